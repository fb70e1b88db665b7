// What the service's descriptions are made of: for tools and documents, not for a client's bundle.
export * from "../wire/schema/index.js";
export { OF_ANY_REQUEST, OF_NO_ROUTE, OF_THE_KEY } from "./common.js";
export { EXAMPLES } from "./examples.js";
export { HEADERS, type HeaderName, headersOf } from "./headers.js";
export { CODE_NOTES, type Place, RETRY_LABELS, type ReasonNote } from "./ReasonNote.js";
export { REASON_GROUPS, REASON_NOTES } from "./reasons.js";
export * from "./routes/index.js";
