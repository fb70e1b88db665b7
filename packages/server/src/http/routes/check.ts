import { encodeCheckLine, NDJSON, parseSimulate, parseSubmitRequest } from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";
import type { AuthenticatedRequest } from "../authenticator.js";
import { refuseEncodedBody } from "../body/jsonBody.js";
import { setRateLimit } from "../limits/rates.js";
import type { RouteServices } from "./routeHandler.js";

/**
 * `POST /v1/check`: the dry run of a submit, one NDJSON line for each transaction. All lines leave together, because all
 * become known at the same time. A check costs the node as much as a submit, so both have the same rate limit. Checks
 * submit nothing, so they have tokens of their own.
 */
export function serveCheck({ checker, rateLimiter }: Pick<RouteServices, "checker" | "rateLimiter">) {
  return {
    onRequest: refuseEncodedBody,
    async handler(request: AuthenticatedRequest, reply: FastifyReply): Promise<string> {
      const simulated = parseSimulate(request.query.simulate);
      const { caller } = request;
      const { transactions } = parseSubmitRequest(request.body, caller.limits.maxBatchSize);
      const checkCaller = { ...caller, keyId: `check ${caller.keyId}` };
      const tokens = await rateLimiter.take(checkCaller, transactions.length);
      setRateLimit(reply, { limits: caller.limits, state: tokens.state, unit: "transactions" });
      const lines = await checker.check(caller, transactions, simulated).catch((error: unknown) => {
        tokens.refund();
        throw error;
      });
      reply.type(NDJSON).header("cache-control", "no-store, no-transform");
      return lines.map((line) => `${encodeCheckLine(line)}\n`).join("");
    },
  };
}
