import type { RawData, WebSocket } from "ws";
import { failure, type RpcResponse } from "../rpc/dispatch.js";
import { RPC_CODES, RpcError, toRpcError } from "../rpc/errors.js";
import type { Connection } from "../rpc/method.js";

/** The most bytes that may wait to be read by a client. Above that the connection is closed. */
export const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** At this many waiting messages, or characters of them, the socket is paused. */
const MAX_WAITING = 64;
const MAX_WAITING_LENGTH = 1024 * 1024;

/** IANA's registry of close codes calls 1013 "Try Again Later". */
export const TRY_AGAIN_LATER = 1013;
const GOING_AWAY = 1001;

export interface SocketDependencies {
  /** Answers a request or batch; undefined if there is no response. */
  answer(text: string, connection: Connection): Promise<RpcResponse | readonly RpcResponse[] | undefined>;
}

/**
 * Serves JSON-RPC over one WebSocket. Messages are answered one after the other, in their order.
 *
 * The next message is handled when the response to the one before has been sent, so a client that does not read its
 * responses is not served further. Notifications do not wait, so a client with {@link MAX_UNREAD_BYTES} of unread
 * notifications is disconnected.
 */
export class RpcSocket implements Connection {
  readonly subscriptions = new Map<string, () => void>();
  readonly #socket: WebSocket;
  readonly #answer: SocketDependencies["answer"];
  readonly #waiting: (string | undefined)[] = [];
  #waitingLength = 0;
  /** Notifications that come up while a response is being made. They are sent after it. */
  #held: string[] = [];
  #heldBytes = 0;
  #busy = false;

  constructor(socket: WebSocket, { answer }: SocketDependencies) {
    this.#socket = socket;
    this.#answer = answer;
    socket.on("message", (data, isBinary) => this.#receive(data, isBinary));
    socket.on("close", () => this.#end());
    // "close" follows. The peer sent malformed frames or is gone, so there is nobody to answer.
    socket.on("error", () => {});
  }

  notify(method: string, params: object): void {
    if (!this.#isOpen) return;
    const text = JSON.stringify({ jsonrpc: "2.0", method, params });
    if (this.#socket.bufferedAmount + this.#heldBytes + text.length > MAX_UNREAD_BYTES) {
      this.#end();
      this.#socket.close(TRY_AGAIN_LATER, `more than ${MAX_UNREAD_BYTES} bytes wait to be read`);
    } else if (this.#busy) {
      this.#held.push(text);
      this.#heldBytes += text.length;
    } else this.#socket.send(text);
  }

  /** Sends a close frame and does not wait for the client's. */
  close(): void {
    this.#end();
    this.#socket.close(GOING_AWAY, "the devnet is closing");
    this.#socket.terminate();
  }

  /** Breaks the connection without a close frame, as a network failure does. */
  cut(): void {
    this.#socket.terminate();
  }

  get #isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  get #isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING || this.#waitingLength >= MAX_WAITING_LENGTH;
  }

  #receive(data: RawData, isBinary: boolean): void {
    const text = isBinary ? undefined : data.toString();
    this.#waiting.push(text);
    this.#waitingLength += text?.length ?? 0;
    if (this.#isFull) this.#socket.pause();
    if (!this.#busy) void this.#answerWaiting();
  }

  /** Answers the waiting messages. An error, such as that of a block that cannot be written, becomes a response. */
  async #answerWaiting(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0 && this.#isOpen) {
      const text = this.#waiting.shift();
      this.#waitingLength -= text?.length ?? 0;
      const response = text === undefined ? NOT_TEXT : await this.#answer(text, this).catch(failureOf);
      if (response !== undefined) await this.#send(JSON.stringify(response));
      await this.#sendHeld();
      if (!this.#isFull && this.#socket.isPaused) this.#socket.resume();
    }
    this.#busy = false;
  }

  async #sendHeld(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    await Promise.all(held.map((text) => this.#send(text)));
  }

  /** Resolves when the text has been sent or the connection is closed. */
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
    this.#waitingLength = 0;
  }
}

function failureOf(error: unknown): RpcResponse {
  return failure(null, toRpcError(error));
}

const NOT_TEXT = failure(
  null,
  new RpcError(RPC_CODES.invalidRequest, "the frame is binary: send JSON-RPC requests as text frames"),
);
