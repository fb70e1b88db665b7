/** The content type of a streamed response: one JSON value a line. */
export const NDJSON = "application/x-ndjson";
