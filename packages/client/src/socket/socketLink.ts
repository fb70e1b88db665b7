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

export type SocketLink = ReturnType<typeof openLink>;

/**
 * One WebSocket from its beginning to its end.
 * @throws InvalidArgumentError if the key is secret, and this WebSocket class takes no headers.
 */
export function openLink(
  WebSocket: WebSocketConstructor,
  url: string,
  apiKey: string | undefined,
  given: LinkListener,
) {
  let listener: LinkListener | undefined = given;
  let isOpen = false;
  const socket = open(WebSocket as unknown as TakesOptions, url, apiKey);
  const end = (code: number) => {
    const [told, wasOpen] = [listener, isOpen];
    isOpen = false;
    listener = undefined;
    told?.closed(code, wasOpen);
  };
  socket.onopen = () => {
    isOpen = true;
    listener?.open();
  };
  socket.onmessage = ({ data }) => listener?.text(typeof data === "string" ? data : "");
  // The error event tells no cause, and the close event follows it.
  socket.onerror = () => {};
  socket.onclose = ({ code }) => end(code);
  return {
    get isOpen() {
      return isOpen;
    },
    send: (text: string) => socket.send(text),
    /** Closes the WebSocket. The listener gets no further event. */
    close() {
      listener = undefined;
      isOpen = false;
      socket.close();
    },
    /** Drops a connection whose other side is silent; the listener gets `closed` at once. */
    abandon() {
      // Not every class has terminate(); close() alone waits for the other side's close frame.
      const { terminate } = socket as { terminate?: () => void };
      if (terminate) terminate.call(socket);
      else socket.close();
      end(ABNORMAL_CLOSURE);
    },
  };
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
