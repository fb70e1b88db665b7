import type { Health } from "@gas-waiver/protocol";
import type { RouteServices } from "./routeHandler.js";

/** `GET /v1/health`, and `/livez` of the operators' port: liveness and nothing else (D24). It queries neither the store nor the node. */
export function serveHealth({ health }: Pick<RouteServices, "health">) {
  return { handler: (): Health => health };
}
