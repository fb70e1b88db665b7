import type { Health } from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";
import type { ReadinessProbe } from "../../health/readiness.js";
import type { RouteServices } from "./routeHandler.js";

/** `GET /v1/ready`: whether the service can do its work (D24), as 200 or 503, with the state of each part. */
export function serveReady({ readiness }: Pick<RouteServices, "readiness">) {
  return handlerOf(() => readiness.probe());
}

/** `/readyz` of the operators' port: whether work should come to this replica (D24), in the same form. */
export function serveReplicaReady({ readiness }: Pick<RouteServices, "readiness">) {
  return handlerOf(() => readiness.probeReplica());
}

function handlerOf(probe: ReadinessProbe["probe"]) {
  return {
    async handler(_request: unknown, reply: FastifyReply) {
      const answer = await probe();
      return reply
        .status(answer.ready ? 200 : 503)
        .header("cache-control", "no-store")
        .send(answer);
    },
  };
}

/** `GET /v1/health`, and `/livez` of the operators' port: liveness and nothing else (D24). It queries neither the store nor the node. */
export function serveHealth({ health }: Pick<RouteServices, "health">) {
  return { handler: (): Health => health };
}
