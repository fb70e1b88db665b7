/** The service that a description is of. */
export interface DescribedService {
  readonly version: string;
  /** The beginning of its paths, such as `/mainnet` of a network among several; empty by default. */
  readonly basePath?: string;
}

export const TITLE = "gas-waiver";

/** The paragraphs before the routes. */
export const INTRODUCTION: readonly string[] = [
  "The submission service accepts transactions that users have signed at gas price 0, wraps each in a transaction of a waiver, and broadcasts it. The chain executes it as the user, and nobody pays for gas.",
  "Every route under `/v1` except `/v1/health` needs the header `Authorization: Bearer <API key>`. Paths under `/v1` only gain optional members, so ignore members that you do not know (D26).",
  'The response to a request that is refused as a whole is `{ "error": { code, message, reason?, details? } }`, with a status of 400 or above (D21). Branch on `reason`, or on `code`; `message` is for people, and `details` has the values involved for programs.',
  "A retry is always safe: the same signed transaction is the same submission, however often it is sent (D18).",
  "Any other path is a 404 with the reason `NO_SUCH_PATH`, and any other method a 405 with `NO_SUCH_METHOD` and the header `Allow`.",
];

/** The paragraphs before the frames of the WebSocket. */
export const INTRODUCTION_TO_SOCKET: readonly string[] = [
  "`GET /v1/submit` with an upgrade to WebSocket (D23). Frames are JSON as text. A client sends any number of them without waiting for answers; several requests may be in flight at once, and their lines arrive mixed, as they are known.",
  "The API key is in the header `Authorization: Bearer <API key>` of the handshake. A request with a bad key, or without a handshake, is answered like any HTTP request.",
  "After a lost connection, `watch` the submissions whose `id` is known, and send again the transactions that have no line: the same transaction is the same submission (D18).",
  "The service pings every 30 seconds and drops a peer that gave no sign since the ping before. While a client does not read, the service does not read from it either.",
];
