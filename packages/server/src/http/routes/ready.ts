import type { FastifyReply } from "fastify";
import type { RouteServices } from "./routeHandler.js";

/** `GET /v1/ready`, and `/readyz` of the operators' port: whether the service can do its work (D24), as 200 or 503, with the state of each part. */
export function serveReady({ readiness }: Pick<RouteServices, "readiness">) {
  return {
    async handler(_request: unknown, reply: FastifyReply) {
      const answer = await readiness.probe();
      return reply
        .status(answer.ready ? 200 : 503)
        .header("cache-control", "no-store")
        .send(answer);
    },
  };
}
