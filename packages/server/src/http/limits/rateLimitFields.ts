import type { FastifyReply } from "fastify";
import type { RateLimits } from "../../model/caller.js";
import type { RateState } from "./localRateLimiter.js";

/** Sets the IETF `RateLimit` field (draft-ietf-httpapi-ratelimit-headers). */
export function setRateLimit(reply: FastifyReply, { remaining, resetSeconds }: RateState): void {
  reply.header("ratelimit", `"transactions";r=${remaining};t=${resetSeconds}`);
}

/** Sets the IETF `RateLimit-Policy` field: a quota of transactions for each window of whole seconds. */
export function setRateLimitPolicy(reply: FastifyReply, { ratePerSecond, rateBurst }: RateLimits): void {
  const windowSeconds = Math.max(1, Math.ceil(rateBurst / ratePerSecond));
  reply.header("ratelimit-policy", `"transactions";q=${rateBurst};w=${windowSeconds}`);
}
