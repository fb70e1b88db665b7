import type { Server } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";

/** The node's side of `eth_subscribe` to `newHeads`, over real WebSockets. */
export class HeadFeed {
  /** Refuses the subscription, as a node that knows only HTTP's methods would. */
  refuses = false;
  /** How often it did. */
  refusals = 0;
  readonly #subscribers = new Set<WebSocket>();
  readonly #sockets: WebSocketServer;
  readonly #changed: () => void;

  /** `changed` is called when somebody subscribes or goes. */
  constructor(server: Server, changed: () => void) {
    this.#changed = changed;
    this.#sockets = new WebSocketServer({ server });
    this.#sockets.on("connection", (socket) => {
      socket.on("message", (data) => this.#receive(socket, String(data)));
      socket.on("close", () => {
        this.#subscribers.delete(socket);
        changed();
      });
    });
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  /** Tells of a new block. */
  tell(height: number): void {
    const result = { number: `0x${height.toString(16)}` };
    this.say(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: { result } }));
  }

  /** Sends any text to whoever has subscribed. */
  say(text: string): void {
    for (const socket of this.#subscribers) socket.send(text);
  }

  /** Breaks every connection. */
  cut(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  #receive(socket: WebSocket, text: string): void {
    const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: unknown[] };
    if (this.refuses || method !== "eth_subscribe" || params[0] !== "newHeads") {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32_601, message: "not supported" } }));
      this.refusals++;
      this.#changed();
      return;
    }
    this.#subscribers.add(socket);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: "0x1" }));
    this.#changed();
  }
}
