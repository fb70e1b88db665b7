import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import { tcpConnectionOf } from "../port/tls.js";

/**
 * Closes the connections without any request when the service shuts down. Clients open some in advance. Node waits for
 * them, because it does not count them as idle.
 */
export function closeUnusedConnections(app: FastifyInstance): void {
  const unused = new Set<Duplex>();
  let isClosing = false;
  app.server.on("connection", (socket: Socket) => {
    if (isClosing) {
      socket.destroy();
      return;
    }
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  app.server.on("request", ({ socket }) => unused.delete(tcpConnectionOf(socket)));
  // WebSockets are closed by their own close frames.
  app.server.on("upgrade", ({ socket }) => unused.delete(tcpConnectionOf(socket)));
  app.addHook("preClose", async () => {
    isClosing = true;
    for (const socket of unused) socket.destroy();
  });
}
