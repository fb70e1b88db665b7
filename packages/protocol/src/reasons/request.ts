import { define } from "../define.js";
import type { ReasonGroup, ReasonsByCode } from "./reasonGroup.js";

/** The reasons for which a request is refused as a whole (D21), one that is not well-formed HTTP included. */
export const REQUEST = {
  INVALID_REQUEST: {
    MALFORMED_HTTP: {},
    HEAD_TOO_LARGE: { status: 431 },
    REQUEST_TOO_SLOW: { status: 408, retry: "now" },
    MALFORMED_JSON: {},
    MALFORMED_BODY: { details: ["index"] },
    MALFORMED_QUERY: { details: ["parameter"] },
    EMPTY_BATCH: {},
    UNSUPPORTED_MEDIA_TYPE: { status: 415 },
    BODY_TOO_LARGE: { status: 413, details: ["maxBodyBytes"] },
    UPGRADE_REQUIRED: { status: 426 },
    DUPLICATE_REQUEST_ID: {},
    INVALID_IDEMPOTENCY_KEY: {},
    // The specification of the header asks for it (draft-ietf-httpapi-idempotency-key-header).
    IDEMPOTENCY_KEY_REUSED: { status: 422, details: ["txHash"] },
  },
  BATCH_SIZE_EXCEEDED: {
    BATCH_TOO_LARGE: { details: ["maxBatchSize"] },
  },
  UNAUTHORIZED: {
    MISSING_KEY: {},
    UNKNOWN_KEY: {},
    KEY_EXPIRED: {},
    KEY_DISABLED: { retry: "later" },
    KEY_REVOKED: {},
    // The key is known, so 401 would be wrong: another try with the same key cannot pass.
    ORIGIN_NOT_ALLOWED: { status: 403 },
    KEY_IS_PUBLISHABLE: { status: 403 },
  },
  RATE_LIMITED: {
    TOO_MANY_UNKNOWN_KEYS: { details: ["retryAfterSeconds"] },
    RATE_EXCEEDED: { details: ["ratePerSecond", "burst", "unit", "asked", "remaining", "retryAfterSeconds"] },
  },
  QUEUE_FULL: {
    QUEUE_AT_CAPACITY: { details: ["held", "capacity"] },
    KEY_SHARE_EXHAUSTED: { details: ["held", "capacity"] },
    CONNECTION_FULL: { details: ["capacity"] },
    SOCKETS_AT_CAPACITY: { details: ["capacity"] },
    BODIES_AT_CAPACITY: { details: ["capacity"] },
  },
  UNAVAILABLE: {
    STORE_UNAVAILABLE: {},
    CHAIN_UNAVAILABLE: {},
    SHUTTING_DOWN: {},
    INTERNAL_ERROR: { status: 500 },
  },
  NOT_FOUND: {
    NO_SUCH_PATH: {},
    NO_SUCH_METHOD: { status: 405 },
    NO_SUCH_SUBMISSION: {},
  },
} as const satisfies ReasonsByCode;

export default /* @__PURE__ */ define(
  (): ReasonGroup<typeof REQUEST> => ({
    title: "The request was refused as a whole",
    where: ["http"],
    notes: {
      MALFORMED_HTTP: {
        cause: "The bytes are not well-formed HTTP, or there is no `Host`.",
        remedy: "Use an HTTP client. If you do, look for a proxy that changes the request.",
      },
      HEAD_TOO_LARGE: {
        cause: "The header fields together are larger than 16 KiB.",
        remedy: "Send fewer or shorter header fields.",
      },
      REQUEST_TOO_SLOW: {
        cause:
          "The request did not arrive in time: its head within 10 seconds and all of it within 60, unless the operator sets other limits.",
        remedy: "Send smaller batches, or use a faster network.",
      },
      MALFORMED_JSON: {
        where: ["http", "frame"],
        cause: "The body or frame is not JSON.",
        remedy: "Send JSON.",
      },
      MALFORMED_BODY: {
        where: ["http", "frame"],
        cause: "The body or frame is JSON, but not of the expected form.",
        remedy: 'Correct what the message names. A submit is `{"transactions": ["0x…"]}`.',
      },
      MALFORMED_QUERY: {
        where: ["http", "frame"],
        cause:
          "A parameter has an invalid value, such as a `wait` that is neither `broadcast` nor `included`, or the route has no such parameter.",
        remedy: "Use a value that the message names, or leave the parameter out.",
      },
      EMPTY_BATCH: {
        where: ["http", "frame"],
        cause: "`transactions` is empty.",
        remedy: "Send at least one transaction.",
      },
      UNSUPPORTED_MEDIA_TYPE: {
        cause: "The content type is not JSON, or the body is compressed.",
        remedy: "Send `Content-Type: application/json` and uncompressed JSON.",
      },
      BODY_TOO_LARGE: {
        cause: "The body has more bytes than the service accepts.",
        remedy: "Send smaller batches.",
      },
      UPGRADE_REQUIRED: {
        cause: "The GET of the WebSocket's path is not a WebSocket handshake.",
        remedy: "Use a WebSocket client, or POST. A proxy in between must forward upgrades.",
      },
      DUPLICATE_REQUEST_ID: {
        where: ["frame"],
        cause: "A request with the same `id` is in flight on this WebSocket.",
        remedy: "Give each request an `id` of its own.",
      },
      INVALID_IDEMPOTENCY_KEY: {
        cause:
          "The header `Idempotency-Key` is empty or too long, or has a space or another character that is not visible ASCII.",
        remedy: "Use 1 to 255 visible ASCII characters, such as a UUID.",
      },
      IDEMPOTENCY_KEY_REUSED: {
        cause: "This API key has sent other transactions under this `Idempotency-Key` before.",
        remedy:
          "`details.txHash` is the first of those that was accepted: wait for it, and do not send again what it has done. Give each request an `Idempotency-Key` of its own, and repeat it only with the same transactions.",
      },
      BATCH_TOO_LARGE: {
        where: ["http", "frame"],
        cause: "The batch has more transactions than the service accepts at once.",
        remedy: "Split the batch.",
      },
      MISSING_KEY: {
        cause: "The request has no `Authorization: Bearer` header.",
        remedy: "Send the API key.",
      },
      UNKNOWN_KEY: {
        cause: "The service does not know the key, or its secret was replaced without an overlap.",
        remedy: "Check the key and the network.",
      },
      KEY_EXPIRED: {
        cause: "The key has expired, or the overlap in which its old secret was valid is over.",
        remedy: "Use the new secret, or ask the operator for another key.",
      },
      KEY_DISABLED: {
        cause:
          "The operator has disabled the key for now, or this version of the service does not understand the key's settings.",
        remedy: "Ask the operator.",
      },
      KEY_REVOKED: { cause: "The key was revoked for good.", remedy: "Ask the operator for another key." },
      ORIGIN_NOT_ALLOWED: {
        cause:
          "The key is publishable (D32), and the request comes from a page of another origin, or from a program without an origin.",
        remedy:
          "Ask the operator to add the page's origin to the key, or `wallets` for programs; a server takes a secret key.",
      },
      KEY_IS_PUBLISHABLE: {
        cause:
          "The key is publishable (D32): it submits, checks, and sees only what it names by the transaction's hash.",
        remedy: "Name the submission by its `txHash`, or use a secret key on a server of yours.",
      },
      TOO_MANY_UNKNOWN_KEYS: {
        where: ["http", "admin"],
        cause: "The client's address has shown too many unknown keys. Keys that it has used before go on.",
        remedy: "Check the key, and wait as long as `Retry-After` says.",
      },
      RATE_EXCEEDED: {
        where: ["http", "frame"],
        cause: "The key sends more transactions a second, or reads more, than it may.",
        remedy: "Wait as long as `Retry-After` says; over a WebSocket, as `details.retryAfterSeconds` says.",
      },
      QUEUE_AT_CAPACITY: {
        where: ["http", "frame"],
        cause: "The service's queue is full, or too many dry runs or reads wait.",
        remedy: "Wait as long as `Retry-After` says; over a WebSocket, a second or more.",
      },
      KEY_SHARE_EXHAUSTED: {
        where: ["http", "frame"],
        cause: "This key's share of the queue is full.",
        remedy: "Wait as long as `Retry-After` says; over a WebSocket, a second or more.",
      },
      CONNECTION_FULL: {
        where: ["frame"],
        cause: "This WebSocket has as many requests in flight as it may.",
        remedy: "Send the next request when one is done, or send larger batches.",
      },
      SOCKETS_AT_CAPACITY: {
        cause: "The service has as many WebSockets open as it may, in all or for this key.",
        remedy: "Send more requests over the open ones, or use POST.",
      },
      BODIES_AT_CAPACITY: {
        cause: "The service holds as many bytes of bodies and frames as it may, in all or for this key.",
        remedy: "Send smaller batches, or fewer of them at once.",
      },
      STORE_UNAVAILABLE: {
        where: ["http", "frame"],
        cause:
          "The service's database cannot do its work; the message names the trouble. Whether anything was accepted is not known.",
        remedy: "Try again later.",
      },
      CHAIN_UNAVAILABLE: {
        where: ["http", "frame"],
        cause: "The service cannot reach the chain; nothing was accepted.",
        remedy: "Try again later.",
      },
      SHUTTING_DOWN: {
        where: ["http", "frame"],
        cause: "The service is shutting down; nothing was accepted.",
        remedy: "Try again later, or send the request to another replica.",
      },
      INTERNAL_ERROR: {
        where: ["http", "frame"],
        cause: "The service has a fault.",
        remedy: "Report it. Sending the same transaction again does no harm (D18).",
      },
      NO_SUCH_PATH: { cause: "The path does not exist.", remedy: "Check the URL." },
      NO_SUCH_METHOD: { cause: "The path does not take this method.", remedy: "Check the method." },
      NO_SUCH_SUBMISSION: {
        cause: "This key has no submission with this `id`, or of a transaction with this hash.",
        remedy: "Check the `id` or the hash. The `id` of a refused line is known for a day.",
      },
    },
  }),
);
