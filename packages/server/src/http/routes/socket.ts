import type { FastifyReply } from "fastify";
import type { AuthenticatedRequest } from "../authenticator.js";
import { upgradeRequired } from "../socket/upgradeRequired.js";
import type { RouteServices } from "./routeHandler.js";

/**
 * `GET /v1/submit`: the WebSocket (D23). A handshake that succeeds leaves HTTP before any route. A request that reaches
 * this handler is not a handshake, or a refused one, and the handler answers why.
 */
export function serveSocket({ sockets }: Pick<RouteServices, "sockets">) {
  return {
    handler({ caller, raw }: AuthenticatedRequest, reply: FastifyReply): never {
      sockets.assertRoom(caller, raw);
      throw upgradeRequired(reply);
    },
  };
}
