import type { Server } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";

/** The node's side of `eth_subscribe` to `newHeads`, over real WebSockets. */
export class NewHeadsServer {
  /** Refuses subscriptions, as a node without `eth_subscribe` does. */
  refuses = false;
  /** The number of refused subscriptions. */
  refusals = 0;
  readonly #subscribers = new Set<WebSocket>();
  readonly #sockets: WebSocketServer;
  readonly #onChange: () => void;

  /** @param onChange is called when a client subscribes, is refused, or leaves. */
  constructor(server: Server, onChange: () => void) {
    this.#onChange = onChange;
    this.#sockets = new WebSocketServer({ server });
    this.#sockets.on("connection", (socket) => {
      socket.on("message", (data) => this.#receive(socket, String(data)));
      socket.on("close", () => {
        this.#subscribers.delete(socket);
        onChange();
      });
    });
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** Announces a new block. */
  announce(height: number): void {
    const result = { number: `0x${height.toString(16)}` };
    this.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: { result } }));
  }

  /** Sends any text to all subscribers. */
  send(text: string): void {
    for (const socket of this.#subscribers) socket.send(text);
  }

  /** Breaks all connections. */
  disconnectAll(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  #receive(socket: WebSocket, text: string): void {
    const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: unknown[] };
    if (this.refuses || method !== "eth_subscribe" || params[0] !== "newHeads") {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_601, message: "not supported" } }));
      this.refusals++;
      this.#onChange();
      return;
    }
    this.#subscribers.add(socket);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
    this.#onChange();
  }
}
