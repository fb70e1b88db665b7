import type { WebSocketConstructor } from "./connect.js";

/** What becomes of a link. After `gone` nothing more comes. */
export interface LinkListener {
  open(): void;
  text(text: string): void;
  gone(code: number, wasOpen: boolean): void;
}

/** The platform's WebSockets differ in this: which ones take headers. */
type TakesHeaders = new (url: string, options: { headers: Record<string, string> }) => WebSocket;

/** A connection that broke without saying so. */
const ABNORMAL = 1006;

/** One WebSocket from its beginning to its end. */
export class SocketLink {
  readonly #socket: WebSocket;
  #listener: LinkListener | undefined;
  #isOpen = false;

  /** @throws TypeError if this WebSocket class takes no headers. */
  constructor(
    WebSocket: WebSocketConstructor,
    url: string,
    apiKey: string | undefined,
    listener: LinkListener,
  ) {
    this.#listener = listener;
    this.#socket = open(WebSocket as unknown as TakesHeaders, url, apiKey);
    this.#socket.onopen = () => {
      this.#isOpen = true;
      this.#listener?.open();
    };
    this.#socket.onmessage = ({ data }) => {
      this.#listener?.text(typeof data === "string" ? data : "");
    };
    // What the error was is not told; the closing that follows counts.
    this.#socket.onerror = () => {};
    this.#socket.onclose = ({ code }) => this.#end(code);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  /** Says goodbye; nothing more is listened to. */
  close(): void {
    this.#listener = undefined;
    this.#isOpen = false;
    this.#socket.close();
  }

  /** Gives up a connection whose other side is silent. */
  abandon(): void {
    // Only some can, and the others wait for an answer to their goodbye.
    const { terminate } = this.#socket as { terminate?: () => void };
    if (terminate) terminate.call(this.#socket);
    else this.#socket.close();
    this.#end(ABNORMAL);
  }

  #end(code: number): void {
    const wasOpen = this.#isOpen;
    const listener = this.#listener;
    this.#isOpen = false;
    this.#listener = undefined;
    listener?.gone(code, wasOpen);
  }
}

function open(WebSocket: TakesHeaders, url: string, apiKey: string | undefined): WebSocket {
  try {
    return new WebSocket(url, { headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` } });
  } catch (cause) {
    throw new TypeError("this WebSocket class does not take headers, and so no API key; pass one that does", {
      cause,
    });
  }
}
