import type { FastifyReply } from "fastify";
import type { RateLimits } from "../../model/keys/caller.js";
import type { RateState, RateUnit } from "./localRateLimiter.js";

/** Sets the IETF `RateLimit` field (draft-ietf-httpapi-ratelimit-headers). */
export function setRateLimit(
  reply: FastifyReply,
  { remaining, resetSeconds }: RateState,
  unit: RateUnit = "transactions",
): void {
  reply.header("ratelimit", `"${unit}";r=${remaining};t=${resetSeconds}`);
}

/** Sets the IETF `RateLimit-Policy` field: a quota of transactions, or of reads, for each window of whole seconds. */
export function setRateLimitPolicy(
  reply: FastifyReply,
  { ratePerSecond, rateBurst }: RateLimits,
  unit: RateUnit = "transactions",
): void {
  const windowSeconds = Math.max(1, Math.ceil(rateBurst / ratePerSecond));
  reply.header("ratelimit-policy", `"${unit}";q=${rateBurst};w=${windowSeconds}`);
}
