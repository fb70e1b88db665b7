import type { ResultLine } from "@gas-waiver/protocol/wire";
import { type ConnectionOptions, createConnection, parseBaseUrl } from "../http/connection.js";
import type { WebSocketConstructor } from "./socketLink.js";
import { SocketRequest } from "./socketRequest.js";
import { SocketSession } from "./socketSession.js";

export type { WebSocketConstructor } from "./socketLink.js";

import type { SubmitOptions } from "../actions/submit.js";

export interface ConnectOptions extends ConnectionOptions {
  /** The platform's own by default. */
  readonly WebSocket?: WebSocketConstructor;
  /** For how long a request waits for a service that cannot be reached, before it fails. 60,000 by default. */
  readonly giveUpAfterMs?: number;
  /** The first pause before connecting again; each further one is twice as long, up to 5 s. 100 by default. */
  readonly reconnectAfterMs?: number;
  /** Frames under way at once; more wait. As many as the service takes by default: 100. */
  readonly maxRequests?: number;
}

/** Nothing is said of sending again: the connection does that by itself. */
export type SocketSubmitOptions = Omit<SubmitOptions, "retry" | "idempotencyKey">;

/** One WebSocket to the service, connected when it is needed and again when it breaks. */
export interface SocketClient {
  /**
   * As `submit` of the package, but over the connection, and through interruptions: if the connection breaks, or the
   * service restarts, the lines that are missing are asked for on the next one. What was sent and not answered is
   * sent again, which is safe: the same transaction is the same submission.
   * @throws WaiverClientError, or the reason of an aborted signal.
   */
  submit(transactions: readonly string[], options?: SocketSubmitOptions): AsyncIterable<ResultLine>;
  /** Closes the connection; iterations under way fail. Nothing that was accepted is cancelled. */
  close(): void;
}

/**
 * Talks to the service over one WebSocket. It keeps a process alive until it is closed.
 * @throws TypeError if the address or the key cannot be used, or there is no WebSocket class.
 */
export function connect(options: ConnectOptions): SocketClient {
  const { WebSocket = globalThis.WebSocket as WebSocketConstructor | undefined } = options;
  const connection = createConnection(options);
  if (WebSocket === undefined) {
    throw new TypeError("this platform has no WebSocket: pass one, such as that of the package `ws`");
  }
  const session = new SocketSession({
    connection,
    base: parseBaseUrl(options.url),
    apiKey: options.apiKey,
    WebSocket,
    giveUpAfterMs: options.giveUpAfterMs ?? 60_000,
    reconnectAfterMs: options.reconnectAfterMs ?? 100,
    maxFrames: options.maxRequests ?? 100,
  });
  return {
    submit: (transactions, submitOptions) => submit(session, transactions, submitOptions),
    close: () => session.close(),
  };
}

async function* submit(
  session: SocketSession,
  transactions: readonly string[],
  { wait, signal }: SocketSubmitOptions = {},
): AsyncGenerator<ResultLine, void, undefined> {
  signal?.throwIfAborted();
  const request = new SocketRequest(transactions, wait);
  const abort = () => request.fail(signal?.reason);
  signal?.addEventListener("abort", abort);
  session.add(request);
  try {
    yield* request.lines();
  } finally {
    signal?.removeEventListener("abort", abort);
    session.remove(request);
  }
}
