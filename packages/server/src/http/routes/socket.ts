import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { AuthenticatedRequest } from "../authenticator.js";
import { acceptSockets, type SocketServices } from "../socket/socket.js";

/**
 * `GET /v1/submit`: the WebSocket (D23). A handshake that succeeds leaves HTTP before any route. A request that reaches
 * this handler is not a handshake, or a refused one, and the handler answers why.
 */
export function serveSocket(services: SocketServices, scope: FastifyInstance) {
  const sockets = acceptSockets(scope, services);
  return {
    handler({ caller, raw }: AuthenticatedRequest, reply: FastifyReply): never {
      sockets.assertRoom(caller, raw);
      // RFC 6455, 4.4: the versions that the service speaks.
      reply
        .header("upgrade", "websocket")
        .header("connection", "upgrade")
        .header("sec-websocket-version", "13");
      throw new ProtocolError(
        "UPGRADE_REQUIRED",
        "this path takes a WebSocket handshake of version 13, or POST",
      );
    },
  };
}
