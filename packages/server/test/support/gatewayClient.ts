import { once } from "node:events";
import { WebSocket } from "ws";

/** The publishable key of the tests. A service has it in `publicApiKeys`. */
export const GATEWAY_KEY = "gwp_test_gateway";

/** The error of a call, as the gateway writes it. */
export interface RpcErrorAnswer {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A client of the gateway that shows whole answers. */
export class GatewayClient {
  readonly url: string;

  constructor(serviceUrl: string, key = GATEWAY_KEY) {
    this.url = `${serviceUrl}/rpc/${key}`;
  }

  async post(body: string, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    const text = await response.text();
    const json: unknown = text === "" ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, json };
  }

  /** Makes a call, and returns its result. @throws if it is refused. */
  async call(method: string, ...params: unknown[]): Promise<unknown> {
    const { json } = await this.#ask(method, params);
    if (!("result" in json)) throw new Error(`${method}: ${JSON.stringify(json)}`);
    return json.result;
  }

  /** Makes a call that the gateway or the node refuses. @throws if it succeeds. */
  async refusal(method: string, ...params: unknown[]): Promise<RpcErrorAnswer> {
    const { json } = await this.#ask(method, params);
    if (json.error === undefined) throw new Error(`${method} has succeeded: ${JSON.stringify(json)}`);
    return json.error;
  }

  async #ask(method: string, params: readonly unknown[]) {
    const { json, ...rest } = await this.post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    return { ...rest, json: json as { readonly result?: unknown; readonly error?: RpcErrorAnswer } };
  }
}

/** The part of an answer behind its id. */
interface SocketAnswer {
  readonly result?: unknown;
  readonly error?: RpcErrorAnswer;
}

interface Notification {
  readonly params: { readonly subscription: string; readonly result: unknown };
}

/** A WebSocket to the gateway. */
export class GatewaySocket {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, (answer: SocketAnswer) => void>();
  readonly #notified: Notification[] = [];
  /** The notifications that have come. */
  notified = 0;
  #wake: () => void = () => {};
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => {
      const { jsonrpc: _, id, ...rest } = JSON.parse(String(data)) as { jsonrpc: string; id?: number };
      if (id === undefined) {
        this.notified++;
        this.#notified.push(rest as unknown as Notification);
      } else this.#answers.get(id)?.(rest);
      this.#wake();
    });
  }

  /** @throws if the handshake is refused, with its status. */
  static async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<GatewaySocket> {
    const socket = new WebSocket(url, { headers });
    await once(socket, "open");
    return new GatewaySocket(socket);
  }

  call(method: string, ...params: unknown[]): Promise<SocketAnswer> {
    return this.#send(method, params, false);
  }

  /** Makes a call in a binary frame, as some clients do. */
  callInBinary(method: string, ...params: unknown[]): Promise<SocketAnswer> {
    return this.#send(method, params, true);
  }

  /** Breaks the connection off. */
  terminate(): void {
    this.#socket.terminate();
  }

  sendText(text: string): void {
    this.#socket.send(text);
  }

  #send(method: string, params: readonly unknown[], binary: boolean): Promise<SocketAnswer> {
    const id = ++this.#lastId;
    this.#socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }), { binary });
    return new Promise((resolve) => this.#answers.set(id, resolve));
  }

  /** Resolves with the next notification. */
  async next(): Promise<Notification> {
    for (;;) {
      const notification = this.#notified.shift();
      if (notification) return notification;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Reads nothing from now on. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads on, to the close by the service. @returns its code. */
  async closeCode(): Promise<number> {
    const closed = once(this.#socket, "close");
    this.#socket.resume();
    const [code] = await closed;
    return code as number;
  }

  async close(): Promise<void> {
    this.#socket.close();
    await once(this.#socket, "close");
  }
}
