import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The answers of each connection that are not out yet: a client may send the next request without waiting for them. */
export class PendingResponses {
  readonly #exchanges = new WeakMap<Socket, Set<Exchange>>();
  readonly #ending = new WeakSet<Socket>();

  /** Begins to hear of the server's requests. */
  track(server: Server): void {
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      const exchange = { request, response };
      const ofSocket = this.#exchanges.get(socket) ?? new Set();
      this.#exchanges.set(socket, ofSocket.add(exchange));
      response.once("close", () => {
        ofSocket.delete(exchange);
        if (this.#ending.has(socket) && !this.#isAnswering(socket)) socket.end();
      });
    });
  }

  /**
   * Closes a connection on which nothing more can be understood behind the last answer to what was understood.
   * @returns false, and does nothing, if no such answer is under way.
   */
  endAfterPending(socket: Socket): boolean {
    if (!this.#isAnswering(socket)) return false;
    this.#ending.add(socket);
    return true;
  }

  /** The request that broke off has no answer, unless it was refused before. */
  #isAnswering(socket: Socket): boolean {
    const ofSocket = [...(this.#exchanges.get(socket) ?? [])];
    return ofSocket.some(({ request, response }) => request.complete || response.headersSent);
  }
}
