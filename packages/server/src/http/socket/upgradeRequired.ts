import { ProtocolError } from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";

/** The refusal of a GET that is no handshake. RFC 6455, 4.4: names the version that the service speaks. */
export function upgradeRequired(reply: FastifyReply): ProtocolError {
  reply.header("upgrade", "websocket").header("connection", "upgrade").header("sec-websocket-version", "13");
  return new ProtocolError(
    "UPGRADE_REQUIRED",
    "this path takes a WebSocket handshake of version 13, or POST",
  );
}
