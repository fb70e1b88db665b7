import { InvalidArgumentError } from "../errors.js";
/**
 * A WebSocket class. A publishable key goes as a subprotocol, which every class takes, also that of browsers. A secret key
 * goes as a header, so the second argument must take `{ headers }`: that of the package `ws` does, or the platform's own in
 * Node 22, Deno and Bun.
 */
export type WebSocketConstructor = new (url: string, options: never) => object;

/** Receives the events of a link. `closed` is the last one. */
export interface LinkListener {
  open(): void;
  text(text: string): void;
  closed(code: number, wasOpen: boolean): void;
}

/** A WebSocket class that takes subprotocols or headers. The platform's types do not declare the headers. */
type TakesOptions = new (url: string, options: string[] | { headers: Record<string, string> }) => WebSocket;

/** The close code of a connection that broke without a close frame (RFC 6455, 7.4.1). */
const ABNORMAL_CLOSURE = 1006;

/** One WebSocket from its beginning to its end. */
export class SocketLink {
  readonly #socket: WebSocket;
  #listener: LinkListener | undefined;
  #isOpen = false;

  /** @throws InvalidArgumentError if the key is secret, and this WebSocket class takes no headers. */
  constructor(
    WebSocket: WebSocketConstructor,
    url: string,
    apiKey: string | undefined,
    listener: LinkListener,
  ) {
    this.#listener = listener;
    this.#socket = open(WebSocket as unknown as TakesOptions, url, apiKey);
    this.#socket.onopen = () => {
      this.#isOpen = true;
      this.#listener?.open();
    };
    this.#socket.onmessage = ({ data }) => {
      this.#listener?.text(typeof data === "string" ? data : "");
    };
    // The error event tells no cause, and the close event follows it.
    this.#socket.onerror = () => {};
    this.#socket.onclose = ({ code }) => this.#end(code);
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  send(text: string): void {
    this.#socket.send(text);
  }

  /** Closes the WebSocket. The listener gets no further event. */
  close(): void {
    this.#listener = undefined;
    this.#isOpen = false;
    this.#socket.close();
  }

  /** Drops a connection whose other side is silent; the listener gets `closed` at once. */
  abandon(): void {
    // Not every class has terminate(); close() alone waits for the other side's close frame.
    const { terminate } = this.#socket as { terminate?: () => void };
    if (terminate) terminate.call(this.#socket);
    else this.#socket.close();
    this.#end(ABNORMAL_CLOSURE);
  }

  #end(code: number): void {
    const wasOpen = this.#isOpen;
    const listener = this.#listener;
    this.#isOpen = false;
    this.#listener = undefined;
    listener?.closed(code, wasOpen);
  }
}

function open(WebSocket: TakesOptions, url: string, apiKey: string | undefined): WebSocket {
  // D32: a page can set no header of a WebSocket.
  if (apiKey?.startsWith("gwp_")) return new WebSocket(url, ["gas-waiver.v1", `bearer.${apiKey}`]);
  try {
    return new WebSocket(url, { headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` } });
  } catch (cause) {
    throw new InvalidArgumentError(
      "this WebSocket class does not take headers, and so no secret API key; pass one that does, or use a publishable key",
      {
        cause,
      },
    );
  }
}
