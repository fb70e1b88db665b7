import { ROUTES } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { type KeyPolicyDependencies, keyPolicyOf } from "../../policy/keyPolicy.js";
import type { Authenticator } from "../auth.js";

export interface PolicyDependencies {
  readonly authenticator: Authenticator;
  readonly policy: KeyPolicyDependencies;
}

/** `GET /v1/policy`: what this key may send. */
export function registerPolicy(app: FastifyInstance, { authenticator, policy }: PolicyDependencies): void {
  app.route({
    method: ROUTES.policy.method,
    url: ROUTES.policy.path,
    onRequest: async (request) => {
      request.caller = authenticator.authenticate(request.headers.authorization);
    },
    handler: async (request, reply) => {
      reply.header("cache-control", "no-store");
      return keyPolicyOf(request.caller, policy);
    },
  });
}
