import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";
import type { AuthenticatedRequest } from "../authenticator.js";
import type { RouteServices } from "./routeHandler.js";

/**
 * `GET /v1/submit`: the WebSocket (D23). A handshake that succeeds leaves HTTP before any route. A request that reaches
 * this handler is not a handshake, or a refused one, and the handler answers why.
 */
export function serveSocket({ sockets }: Pick<RouteServices, "sockets">) {
  return {
    handler({ raw }: AuthenticatedRequest, reply: FastifyReply): never {
      sockets.assertRoom(raw);
      throw upgradeRequired(reply);
    },
  };
}

/** The refusal of a GET that is no handshake. RFC 6455, 4.4: names the version that the service speaks. */
export function upgradeRequired(reply: FastifyReply): ProtocolError {
  reply.header("upgrade", "websocket").header("connection", "upgrade").header("sec-websocket-version", "13");
  return new ProtocolError(
    "UPGRADE_REQUIRED",
    "this path takes a WebSocket handshake of version 13, or POST",
  );
}
