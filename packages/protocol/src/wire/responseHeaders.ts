import { codeOf, type Reason } from "../reasons/index.js";
import type { Schema } from "./schema.js";

/** A header field of a response. */
interface HeaderDescription {
  readonly description: string;
  readonly schema: Schema;
  readonly example: unknown;
}

/** The header fields of responses that callers can rely on. */
export const HEADERS = /* @__PURE__ */ defineHeaders(() => ({
  "Retry-After": {
    description: "The number of seconds after which the request may pass.",
    schema: { type: "integer", minimum: 0 },
    example: 1,
  },
  RateLimit: {
    description:
      "The rest of the key's rate: `r` transactions or reads now, and the full rate again in `t` seconds (IETF draft).",
    schema: { type: "string", pattern: '^"[a-z-]+";r=[0-9]+;t=[0-9]+$' },
    example: '"transactions";r=199;t=1',
  },
  "RateLimit-Policy": {
    description: "The key's rate: `q` transactions or reads in `w` seconds (IETF draft).",
    schema: { type: "string", pattern: '^"[a-z-]+";q=[0-9]+;w=[0-9]+$' },
    example: '"transactions";q=200;w=2',
  },
  "WWW-Authenticate": {
    description: "The way to authenticate.",
    schema: { type: "string", pattern: "^Bearer" },
    example: "Bearer",
  },
  Allow: {
    description: "The methods that the path allows.",
    schema: { type: "string", pattern: "^[A-Z]+(, [A-Z]+)*$" },
    example: "GET, HEAD",
  },
  Upgrade: {
    description: "The protocol that the path requires.",
    schema: { type: "string", const: "websocket" },
    example: "websocket",
  },
  "Sec-WebSocket-Version": {
    description: "The version of the WebSocket protocol that the service speaks.",
    schema: { type: "string", const: "13" },
    example: "13",
  },
  "Cache-Control": {
    description: "The response is for this request only. No proxy may compress a stream of lines.",
    schema: { type: "string", enum: ["no-store", "no-store, no-transform"] },
    example: "no-store",
  },
}));

function defineHeaders<const H extends Readonly<Record<string, HeaderDescription>>>(make: () => H): H {
  return make();
}

export type HeaderName = keyof typeof HEADERS;

/**
 * Returns the header fields that every response to a request refused for the reason has (D21).
 * @example
 * ```ts
 * headersOf("RATE_EXCEEDED"); // ["Retry-After", "RateLimit", "RateLimit-Policy"]
 * ```
 */
export function headersOf(reason: Reason): readonly HeaderName[] {
  if (reason === "NO_SUCH_METHOD") return ["Allow"];
  if (reason === "UPGRADE_REQUIRED") return ["Upgrade", "Sec-WebSocket-Version"];
  switch (codeOf(reason)) {
    case "UNAUTHORIZED":
      return ["WWW-Authenticate"];
    case "RATE_LIMITED":
      return ["Retry-After", "RateLimit", "RateLimit-Policy"];
    case "QUEUE_FULL":
    case "UNAVAILABLE":
      return ["Retry-After"];
    default:
      return [];
  }
}

/**
 * Returns the header fields that the responses of all these reasons have in common.
 * @example
 * ```ts
 * sharedHeadersOf(["RATE_EXCEEDED", "QUEUE_AT_CAPACITY"]); // ["Retry-After"]
 * ```
 */
export function sharedHeadersOf(reasons: readonly Reason[]): readonly HeaderName[] {
  const [first = [], ...others] = reasons.map(headersOf);
  return first.filter((name) => others.every((names) => names.includes(name)));
}
