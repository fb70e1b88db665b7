import type { Reason } from "../reasons.js";
import type { ReasonNote } from "./ReasonNote.js";

type Notes = Partial<Record<Reason, ReasonNote>>;

/** The request was refused whole. */
export const REQUEST = {
  MALFORMED_HTTP: {
    where: ["http"],
    cause: "What came is not well-formed HTTP, or has no `Host`.",
    remedy: "Use an HTTP client; if you do, look for a proxy that changes the request.",
    retry: "corrected",
  },
  HEAD_TOO_LARGE: {
    where: ["http"],
    cause: "The header fields together are larger than 16 KiB.",
    remedy: "Send fewer or shorter header fields.",
    retry: "corrected",
  },
  REQUEST_TOO_SLOW: {
    where: ["http"],
    cause:
      "The request did not arrive in time: within 10 seconds its head, within 60 all of it, unless the operator set other limits.",
    remedy: "Send smaller batches, or over a faster line.",
    retry: "now",
  },
  MALFORMED_JSON: {
    where: ["http", "frame"],
    cause: "The body or frame is not JSON.",
    remedy: "Send JSON.",
    retry: "corrected",
  },
  MALFORMED_BODY: {
    where: ["http", "frame"],
    cause: "The body or frame is not what is asked for here.",
    remedy: 'Correct what the message names; a submit is `{"transactions": ["0x…"]}`.',
    retry: "corrected",
  },
  MALFORMED_QUERY: {
    where: ["http", "frame"],
    cause:
      "A parameter has a value that it cannot have, such as a `wait` that is neither `broadcast` nor `included`; or a list of submissions has no such parameter.",
    remedy: "Use a value that the message names, or leave the parameter out.",
    retry: "corrected",
  },
  EMPTY_BATCH: {
    where: ["http", "frame"],
    cause: "`transactions` is empty.",
    remedy: "Send at least one.",
    retry: "corrected",
  },
  UNSUPPORTED_MEDIA_TYPE: {
    where: ["http"],
    cause: "The content type is not JSON, or the body is compressed.",
    remedy: "Send `Content-Type: application/json`, and the JSON as it is.",
    retry: "corrected",
  },
  BODY_TOO_LARGE: {
    where: ["http"],
    cause: "More bytes than the service takes.",
    remedy: "Send smaller batches.",
    retry: "corrected",
  },
  UPGRADE_REQUIRED: {
    where: ["http"],
    cause: "A GET of the WebSocket's path that is no WebSocket handshake.",
    remedy: "Use a WebSocket client, or POST; behind a proxy, let it pass upgrades on.",
    retry: "corrected",
  },
  DUPLICATE_REQUEST_ID: {
    where: ["frame"],
    cause: "A request of this WebSocket with the same `id` is under way.",
    remedy: "Give each request an `id` of its own.",
    retry: "corrected",
  },
  INVALID_IDEMPOTENCY_KEY: {
    where: ["http"],
    cause:
      "The header `Idempotency-Key` is empty, too long, or has a space or another character that no key has.",
    remedy: "Use 1 to 255 visible ASCII characters, such as a UUID.",
    retry: "corrected",
  },
  IDEMPOTENCY_KEY_REUSED: {
    where: ["http"],
    cause: "This API key sent other transactions under this `Idempotency-Key` before.",
    remedy:
      "Send each request under an `Idempotency-Key` of its own; repeat it only with the same transactions.",
    retry: "corrected",
  },
  BATCH_TOO_LARGE: {
    where: ["http", "frame"],
    cause: "More transactions than the service takes at once.",
    remedy: "Split the batch.",
    retry: "corrected",
  },
  MISSING_KEY: {
    where: ["http"],
    cause: "No `Authorization: Bearer` header.",
    remedy: "Send the API key.",
    retry: "corrected",
  },
  UNKNOWN_KEY: {
    where: ["http"],
    cause: "The key is not known here, or its secret was replaced without an overlap.",
    remedy: "Check the key and the network.",
    retry: "corrected",
  },
  KEY_EXPIRED: {
    where: ["http"],
    cause: "The key has expired, or the overlap in which its old secret was good is over.",
    remedy: "Use the new secret, or ask the operator for another key.",
    retry: "corrected",
  },
  KEY_DISABLED: {
    where: ["http"],
    cause:
      "The operator has disabled the key for now; or this version of the service does not understand what is set for it.",
    remedy: "Ask the operator.",
    retry: "later",
  },
  KEY_REVOKED: {
    where: ["http"],
    cause: "The key was revoked for good.",
    remedy: "Ask the operator for another key.",
    retry: "corrected",
  },
  RATE_EXCEEDED: {
    where: ["http", "frame"],
    cause: "More transactions a second than this key may send.",
    remedy: "Wait as long as `Retry-After` says; over a WebSocket, a second or more.",
    retry: "later",
  },
  QUEUE_AT_CAPACITY: {
    where: ["http", "frame"],
    cause: "The service has more work than it takes on.",
    remedy: "Wait as long as `Retry-After` says; over a WebSocket, a second or more.",
    retry: "later",
  },
  KEY_SHARE_EXHAUSTED: {
    where: ["http", "frame"],
    cause: "This key's share of the queue is full.",
    remedy: "Wait as long as `Retry-After` says; over a WebSocket, a second or more.",
    retry: "later",
  },
  CONNECTION_FULL: {
    where: ["frame"],
    cause: "This WebSocket has as many requests under way as it may.",
    remedy: "Send the next when one is done, or send larger batches.",
    retry: "later",
  },
  SOCKETS_AT_CAPACITY: {
    where: ["http"],
    cause: "The service, or this key, has as many WebSockets open as it may.",
    remedy: "Send more requests over the ones that are open, or use POST.",
    retry: "later",
  },
  BODIES_AT_CAPACITY: {
    where: ["http"],
    cause: "The service, or this key, holds as many bytes of bodies and frames at once as it may.",
    remedy: "Send smaller batches, or fewer at once.",
    retry: "later",
  },
  STORE_UNAVAILABLE: {
    where: ["http", "frame"],
    cause: "The service's database does not answer; nothing was accepted for sure.",
    remedy: "Try again later.",
    retry: "later",
  },
  CHAIN_UNAVAILABLE: {
    where: ["http", "frame"],
    cause: "The service cannot reach the chain; nothing was accepted.",
    remedy: "Try again later.",
    retry: "later",
  },
  SHUTTING_DOWN: {
    where: ["http", "frame"],
    cause: "The service is stopping; nothing was accepted.",
    remedy: "Try again later, or elsewhere.",
    retry: "later",
  },
  INTERNAL_ERROR: {
    where: ["http", "frame"],
    cause: "A fault in the service.",
    remedy: "Report it. Sending the same transaction again does no harm (D18).",
    retry: "later",
  },
  NO_SUCH_PATH: {
    where: ["http"],
    cause: "There is no such path.",
    remedy: "Check the URL.",
    retry: "corrected",
  },
  NO_SUCH_METHOD: {
    where: ["http"],
    cause: "The path does not take this method.",
    remedy: "Check the method.",
    retry: "corrected",
  },
  NO_SUCH_SUBMISSION: {
    where: ["http"],
    cause: "No submission of this `id` was accepted.",
    remedy: "Check the `id`.",
    retry: "corrected",
  },
} as const satisfies Notes;
