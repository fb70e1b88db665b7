import type { KeyPolicy } from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";
import { keyPolicyOf } from "../../policy/keyPolicy.js";
import type { AuthenticatedRequest } from "../authenticator.js";
import type { RouteServices } from "./routeHandler.js";

/** `GET /v1/policy`: the calls that this key may send, its limits and its caps. */
export function servePolicy({ policy, readLimiter }: Pick<RouteServices, "policy" | "readLimiter">) {
  return {
    async handler({ caller }: AuthenticatedRequest, reply: FastifyReply): Promise<KeyPolicy> {
      reply.header("cache-control", "no-store");
      return await readLimiter.read(caller, 1, async () => keyPolicyOf(caller, policy));
    },
  };
}
