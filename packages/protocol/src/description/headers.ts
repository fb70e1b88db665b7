import { codeOf, type Reason } from "../reasons.js";
import type { Schema } from "../wire/schema/index.js";

/** The header fields of answers that callers can build on. */
export const HEADERS = {
  "Retry-After": {
    description: "After how many seconds the request may pass.",
    schema: { type: "integer", minimum: 0 },
    example: 1,
  },
  RateLimit: {
    description:
      "What is left of the key's rate: `r` transactions now, all again in `t` seconds (IETF draft).",
    schema: { type: "string", pattern: '^"[a-z-]+";r=[0-9]+;t=[0-9]+$' },
    example: '"transactions";r=199;t=1',
  },
  "RateLimit-Policy": {
    description: "The key's rate: `q` transactions in `w` seconds (IETF draft).",
    schema: { type: "string", pattern: '^"[a-z-]+";q=[0-9]+;w=[0-9]+$' },
    example: '"transactions";q=200;w=2',
  },
  "WWW-Authenticate": {
    description: "How to authenticate.",
    schema: { type: "string", pattern: "^Bearer" },
    example: "Bearer",
  },
  Allow: {
    description: "The methods that the path takes.",
    schema: { type: "string", pattern: "^[A-Z]+(, [A-Z]+)*$" },
    example: "GET, HEAD",
  },
  Upgrade: {
    description: "The protocol of the path.",
    schema: { type: "string", const: "websocket" },
    example: "websocket",
  },
  "Cache-Control": {
    description: "The answer is for this request only.",
    schema: { type: "string", const: "no-store" },
    example: "no-store",
  },
} as const satisfies Readonly<
  Record<string, { readonly description: string; readonly schema: Schema; readonly example: unknown }>
>;

export type HeaderName = keyof typeof HEADERS;

/** The header fields that a request refused for this reason always gets (D21). */
export function headersOf(reason: Reason): readonly HeaderName[] {
  if (reason === "NO_SUCH_METHOD") return ["Allow"];
  if (reason === "UPGRADE_REQUIRED") return ["Upgrade"];
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

/** The header fields that every request refused for one of these reasons gets. */
export function sharedHeadersOf(reasons: readonly Reason[]): readonly HeaderName[] {
  const [first = [], ...others] = reasons.map(headersOf);
  return first.filter((name) => others.every((names) => names.includes(name)));
}
