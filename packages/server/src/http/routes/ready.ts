import { ROUTES } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import type { ReadinessProbe } from "../../health/readiness.js";
import type { Authenticator } from "../auth.js";

export interface ReadyDependencies {
  readonly readiness: ReadinessProbe;
  readonly authenticator: Authenticator;
}

/** D24: can the service do its work? 200 or 503, with each part named. */
export function registerReady(app: FastifyInstance, { readiness, authenticator }: ReadyDependencies): void {
  app.route({
    method: ROUTES.ready.method,
    url: ROUTES.ready.path,
    onRequest: async (request) => {
      request.caller = authenticator.authenticate(request.headers.authorization);
    },
    handler: async (_request, reply) => {
      const answer = await readiness.probe();
      return reply
        .status(answer.ready ? 200 : 503)
        .header("cache-control", "no-store")
        .send(answer);
    },
  });
}
