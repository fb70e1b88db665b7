import { WebSocket } from "ws";

/** A WebSocket client of JSON-RPC for tests. It keeps the received messages. */
export class TestSocket {
  readonly socket: WebSocket;
  readonly #answers = new Map<number, (message: Message) => void>();
  readonly #messages: Message[] = [];
  readonly #waiting: ((message: Message) => void)[] = [];
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => this.#receive(JSON.parse(data.toString()) as Message));
  }

  /** @param url the HTTP address of the node. */
  static async open(url: string): Promise<TestSocket> {
    const socket = new WebSocket(url.replace("http", "ws"));
    const opened = new TestSocket(socket);
    await new Promise((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    return opened;
  }

  /** The result of a method. @throws its error, as an object. */
  async rpc(method: string, ...params: unknown[]): Promise<unknown> {
    const id = ++this.#lastId;
    const answered = new Promise<Message>((resolve) => this.#answers.set(id, resolve));
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const { result, error } = await answered;
    if (error !== undefined) throw error;
    return result;
  }

  /** The next message that is not a response to `rpc`. */
  next(): Promise<Message> {
    const message = this.#messages.shift();
    return message !== undefined
      ? Promise.resolve(message)
      : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The result in the next notification. */
  async notification(): Promise<unknown> {
    return (await this.next()).params?.result;
  }

  /** The number of received messages that no test has read. */
  get unread(): number {
    return this.#messages.length;
  }

  closed(): Promise<{ code: number; reason: string }> {
    return new Promise((resolve) =>
      this.socket.once("close", (code, reason) => resolve({ code, reason: reason.toString() })),
    );
  }

  #receive(message: Message): void {
    const answered = typeof message.id === "number" ? this.#answers.get(message.id) : undefined;
    if (answered !== undefined) answered(message);
    else {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) this.#messages.push(message);
      else waiting(message);
    }
  }
}

export interface Message {
  readonly id?: number | null;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
  readonly method?: string;
  readonly params?: { readonly subscription: string; readonly result: unknown };
}
