import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * Closes, when the service ends, the connections that have asked for nothing yet: clients open some in advance, and
 * Node, which waits for them, does not count them as idle.
 */
export function closeUnusedConnections(app: FastifyInstance): void {
  const silent = new Set<Socket>();
  let closing = false;
  app.server.on("connection", (socket: Socket) => {
    if (closing) {
      socket.destroy();
      return;
    }
    silent.add(socket);
    socket.once("close", () => silent.delete(socket));
  });
  app.server.on("request", ({ socket }) => silent.delete(socket));
  // A WebSocket has its own goodbye.
  app.server.on("upgrade", ({ socket }) => silent.delete(socket));
  app.addHook("preClose", async () => {
    closing = true;
    for (const socket of silent) socket.destroy();
  });
}
