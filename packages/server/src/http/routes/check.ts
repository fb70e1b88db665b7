import { encodeCheckLine, NDJSON, parseSimulate, parseSubmitRequest, ROUTES } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import type { Checker } from "../../check/check.js";
import type { Authenticator } from "../auth.js";
import { setRateLimit, setRateLimitPolicy } from "../errors.js";
import type { RateLimiter } from "../limits/rateLimiter.js";
import { assertPlainBody } from "./submit.js";

export interface CheckRouteDependencies {
  readonly checker: Checker;
  readonly authenticator: Authenticator;
  readonly limiter: RateLimiter;
}

/**
 * `POST /v1/check`: one NDJSON line a transaction, all of them together: what they say is known at the same time. It costs
 * the node as much as a submit, so it has a rate, the same as that of submits; and it counts for nothing, so that rate
 * is one of its own.
 */
export function registerCheck(app: FastifyInstance, dependencies: CheckRouteDependencies): void {
  const { checker, authenticator, limiter } = dependencies;
  app.route<{ Querystring: Record<string, unknown> }>({
    method: ROUTES.check.method,
    url: ROUTES.check.path,
    // Before the body is read: a stranger's body is not worth the memory.
    onRequest: async (request) => {
      request.caller = authenticator.authenticate(request.headers.authorization);
      assertPlainBody(request.headers["content-encoding"]);
    },
    handler: async (request, reply) => {
      const simulated = parseSimulate(request.query.simulate);
      const { caller } = request;
      const { transactions } = parseSubmitRequest(request.body, caller.limits.maxBatchSize);
      setRateLimitPolicy(reply, caller.limits);
      const checks = { keyId: `check ${caller.keyId}`, limits: caller.limits };
      const taken = await limiter.take(checks, transactions.length);
      setRateLimit(reply, taken.state);
      const lines = await checker.check(caller, transactions, simulated).catch((error: unknown) => {
        taken.refund();
        throw error;
      });
      reply.type(NDJSON).header("cache-control", "no-store");
      return lines.map((line) => `${encodeCheckLine(line)}\n`).join("");
    },
  });
}
