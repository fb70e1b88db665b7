import { type Health, ROUTES } from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";

/** D24: liveness, nothing else. It asks neither the store nor the node. */
export function registerHealth(app: FastifyInstance, health: Health): void {
  app.route({ method: ROUTES.health.method, url: ROUTES.health.path, handler: () => health });
}
