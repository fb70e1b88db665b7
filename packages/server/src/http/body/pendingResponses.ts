import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Knows the unsent responses of each connection. A client may send requests without waiting for responses. */
export class PendingResponses {
  readonly #exchanges = new WeakMap<Socket, Set<Exchange>>();
  readonly #ending = new WeakSet<Socket>();

  /** Starts to follow the server's requests. */
  track(server: Server): void {
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      const exchange = { request, response };
      const exchanges = this.#exchanges.get(socket) ?? new Set();
      this.#exchanges.set(socket, exchanges.add(exchange));
      response.once("close", () => {
        exchanges.delete(exchange);
        if (this.#ending.has(socket) && !this.#isPending(socket)) socket.end();
      });
    });
  }

  /**
   * Closes a connection after its last pending response. For connections whose further bytes make no sense.
   * @returns false, and does nothing, if no response is pending.
   */
  endAfterPending(socket: Socket): boolean {
    if (!this.#isPending(socket)) return false;
    this.#ending.add(socket);
    return true;
  }

  /** A request that broke off gets no response, unless it was refused before. */
  #isPending(socket: Socket): boolean {
    const exchanges = [...(this.#exchanges.get(socket) ?? [])];
    return exchanges.some(({ request, response }) => request.complete || response.headersSent);
  }
}
