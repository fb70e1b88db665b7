export const TITLE = "gas-waiver";

/** What comes before the routes, a paragraph each. */
export const INTRODUCTION: readonly string[] = [
  "The submission service takes transactions that users have signed at gas price 0, wraps each in a transaction of a waiver, and carries it to the chain. The chain executes it as the user, and nobody pays for gas.",
  "Every route under `/v1` except `/v1/health` needs the header `Authorization: Bearer <API key>`. Paths under `/v1` only gain optional members: ignore what you do not know (D26).",
  'A request that is refused whole is answered with `{ "error": { code, message, reason? } }` and a status of 400 or above (D21). Branch on `reason`, or on `code`; `message` is for people.',
  "A retry is always safe: the same signed transaction is the same submission, however often it is sent (D18).",
  "There is nothing else: another path is 404 with the reason `NO_SUCH_PATH`, another method 405 with `NO_SUCH_METHOD` and the header `Allow`.",
];

export const INTRODUCTION_TO_SOCKET: readonly string[] = [
  "`GET /v1/submit` with an upgrade to WebSocket (D23). Frames are JSON as text, in any number, without waiting for answers; several requests may be under way at once, and their lines come mixed, as they are known.",
  "The API key is in the header `Authorization: Bearer <API key>` of the handshake. A bad key, or no handshake, is answered as any HTTP request is.",
  "After a lost connection, `watch` the submissions whose `id` is known, and send again what has no line: the same transaction is the same submission (D18).",
  "The service pings every 30 seconds and drops a peer that gave no sign since the ping before. It stops reading from a client that does not read.",
];
