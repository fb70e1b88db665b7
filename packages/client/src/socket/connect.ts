import type { ResultLine, Wait } from "@gas-waiver/protocol/wire";
import { isSurelyNotAccepted, leavingInDoubt } from "../actions/acceptance.js";
import type { SubmitOptions } from "../actions/submit.js";
import { InvalidArgumentError } from "../errors.js";
import { type ConnectionOptions, createConnection, parseBaseUrl } from "../http/connection.js";
import type { WebSocketConstructor } from "./socketLink.js";
import { type RequestedLines, SocketRequest } from "./socketRequest.js";
import { SocketSession } from "./socketSession.js";

export type { WebSocketConstructor } from "./socketLink.js";

/** The address of the service, and how to keep a WebSocket to it. */
export interface ConnectOptions extends ConnectionOptions {
  /** The WebSocket class; the platform's own by default. */
  readonly WebSocket?: WebSocketConstructor;
  /** The time, in ms, that a request waits for a service that cannot be reached, before it fails. 60,000 by default. */
  readonly giveUpAfterMs?: number;
  /** The first pause before connecting again, in ms. Each further one is twice as long, up to 5 s. 100 by default. */
  readonly reconnectAfterMs?: number;
  /** The number of unanswered frames at once; further ones wait. 100 by default, as the service takes. */
  readonly maxRequests?: number;
}

/** Options of a submit over a WebSocket. The connection sends again by itself, so it takes no `retry`. */
export type SocketSubmitOptions = Omit<SubmitOptions, "retry" | "idempotencyKey">;

/** Options of {@link SocketClient.watch}. */
export interface SocketWatchOptions {
  /** `broadcast` (the default): a node of the chain has the transaction. `included`: a block has executed it. */
  readonly wait?: Wait;
  /** Ends the watching, and nothing else. */
  readonly signal?: AbortSignal;
}

/** One WebSocket to the service, opened when it is needed and again when it breaks. */
export interface SocketClient {
  /**
   * Submits as `submit` of the package does, but over the WebSocket and through interruptions: if the connection
   * breaks or the service restarts, the client asks for the missing lines on the next connection. Unanswered transactions are
   * sent again, which is safe: the same transaction is the same submission (D18).
   * @throws `WaiverClientError`, or the reason of an aborted signal.
   * @example
   * ```ts
   * for await (const line of socket.submit([signedTransaction], { wait: "included" })) {
   *   console.log(line.index, line.success);
   * }
   * ```
   */
  submit(transactions: readonly string[], options?: SocketSubmitOptions): AsyncIterable<ResultLine>;
  /**
   * Gives the lines of earlier submissions, each as soon as its result is known, also through interruptions: those of
   * refused lines and of what is finished at once. Leaving the loop ends the watching, and nothing else.
   * @param names ids of lines, or hashes of transactions; at most 100 by default. A publishable key names by hash alone.
   * @returns one line a name; `index` is its position in `names`. A name that this key has nothing of has a line with the
   * reason `UNKNOWN_SUBMISSION`. After a line with the code `TIMEOUT`, another call goes on.
   * @throws `WaiverClientError`, or the reason of an aborted signal.
   * @example
   * ```ts
   * for await (const line of socket.watch([transactionHash], { wait: "included" })) {
   *   console.log(line.id, line.success);
   * }
   * ```
   */
  watch(names: readonly string[], options?: SocketWatchOptions): AsyncIterable<ResultLine>;
  /**
   * Closes the connection. Running iterations fail; accepted transactions are processed all the same.
   * @example
   * ```ts
   * socket.close();
   * ```
   */
  close(): void;
}

/**
 * Talks to the service over one WebSocket. It keeps a process alive until it is closed.
 * @throws InvalidArgumentError if the address or the key cannot be used, or the platform has no WebSocket class.
 * @example
 * ```ts
 * import { connect } from "@gas-waiver/client";
 *
 * const socket = connect({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local" });
 * for await (const line of socket.submit([signedTransaction])) console.log(line.index, line.success);
 * socket.close();
 * ```
 */
export function connect(options: ConnectOptions): SocketClient {
  const { WebSocket = globalThis.WebSocket as WebSocketConstructor | undefined } = options;
  const connection = createConnection(options);
  if (WebSocket === undefined) {
    throw new InvalidArgumentError(
      "this platform has no WebSocket: pass one, such as that of the package `ws`",
    );
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
    submit: (transactions, submitOptions) => linesOf(session, { transactions }, submitOptions),
    watch: (names, watchOptions) => linesOf(session, { watch: names }, watchOptions),
    close: () => session.close(),
  };
}

async function* linesOf(
  session: SocketSession,
  requested: RequestedLines,
  { wait, signal }: SocketWatchOptions = {},
): AsyncGenerator<ResultLine, void, undefined> {
  signal?.throwIfAborted();
  const request = new SocketRequest(requested, wait);
  const abort = () => request.fail(signal?.reason);
  signal?.addEventListener("abort", abort);
  session.add(request);
  try {
    yield* request.lines();
  } catch (error) {
    if (!("transactions" in requested) || isSurelyNotAccepted(error)) throw error;
    throw leavingInDoubt(error, requested.transactions, request.unanswered);
  } finally {
    signal?.removeEventListener("abort", abort);
    session.remove(request);
  }
}
