import type { RawData, WebSocket } from "ws";
import type { Connection } from "../rpc/connection.js";
import { failure, type RpcResponse } from "../rpc/dispatch.js";
import { RPC_CODES, RpcError } from "../rpc/errors.js";

/** What waits to be read by a client at most. Past it, the connection is closed rather than memory filled. */
export const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** Messages, and their bytes, that wait for their turn before the socket is no longer read. */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 1024 * 1024;

/** 1013, "try again later", is what the client sees when it reads again. */
export const SLOW_READER_CODE = 1013;
const CLOSING_CODE = 1001;

export interface SocketDependencies {
  /** The answer to a request or batch; undefined where nothing is to be said. */
  answer(text: string, connection: Connection): Promise<RpcResponse | readonly RpcResponse[] | undefined>;
}

/**
 * JSON-RPC over one WebSocket. Messages are answered one after the other, in their order.
 *
 * A client that does not read is not read from either: the next message is taken when the answer to the one
 * before has left. Notifications cannot wait like that, so a client that lets {@link MAX_UNREAD_BYTES} of them
 * pile up is closed.
 */
export class RpcSocket implements Connection {
  readonly subscriptions = new Map<string, () => void>();
  readonly #socket: WebSocket;
  readonly #answer: SocketDependencies["answer"];
  readonly #waiting: (string | undefined)[] = [];
  #waitingBytes = 0;
  /** Notifications that came up while an answer is made: they go out after it. */
  #held: string[] = [];
  #heldBytes = 0;
  #busy = false;

  constructor(socket: WebSocket, { answer }: SocketDependencies) {
    this.#socket = socket;
    this.#answer = answer;
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("close", () => this.#end());
    // "close" follows, and there is nobody to tell: what arrived was no WebSocket, or the peer is gone.
    socket.on("error", () => {});
  }

  notify(method: string, params: object): void {
    if (!this.#isOpen) return;
    const text = JSON.stringify({ jsonrpc: "2.0", method, params });
    if (this.#socket.bufferedAmount + this.#heldBytes + text.length > MAX_UNREAD_BYTES) {
      this.#end();
      this.#socket.close(SLOW_READER_CODE, `more than ${MAX_UNREAD_BYTES} bytes wait to be read`);
    } else if (this.#busy) {
      this.#held.push(text);
      this.#heldBytes += text.length;
    } else this.#socket.send(text);
  }

  /** Says goodbye, and does not wait for an answer to that. */
  close(): void {
    this.#end();
    this.#socket.close(CLOSING_CODE, "the devnet is closing");
    this.#socket.terminate();
  }

  /** Cuts the connection without a word, as a network does. */
  cut(): void {
    this.#socket.terminate();
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  get #isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING || this.#waitingBytes >= MAX_WAITING_BYTES;
  }

  #receive(data: RawData, isBinary: boolean): void {
    const text = isBinary ? undefined : data.toString();
    this.#waiting.push(text);
    this.#waitingBytes += text?.length ?? 0;
    if (this.#isFull) this.#socket.pause();
    if (!this.#busy) void this.#work();
  }

  /** Never rejects: whatever a message asks for, the answer says how it went. */
  async #work(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0 && this.#isOpen) {
      const text = this.#waiting.shift();
      this.#waitingBytes -= text?.length ?? 0;
      const response = text === undefined ? NOT_TEXT : await this.#answer(text, this);
      if (response !== undefined) await this.#send(JSON.stringify(response));
      await this.#release();
      if (!this.#isFull && this.#socket.isPaused) this.#socket.resume();
    }
    this.#busy = false;
  }

  async #release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    await Promise.all(held.map((text) => this.#send(text)));
  }

  /** Waits until the text has left, or the connection is gone. */
  #send(text: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isOpen) this.#socket.send(text, () => resolve());
      else resolve();
    });
  }

  #end(): void {
    for (const unsubscribe of this.subscriptions.values()) unsubscribe();
    this.subscriptions.clear();
    this.#held = [];
    this.#heldBytes = 0;
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }
}

const NOT_TEXT = failure(
  null,
  new RpcError(RPC_CODES.invalidRequest, "the frame is binary: send JSON-RPC requests as text frames"),
);
