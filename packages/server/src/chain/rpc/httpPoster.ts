import http, { type ClientRequest, type IncomingMessage } from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { urlToHttpOptions } from "node:url";
import { wasNeverSent } from "@gas-waiver/protocol";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import { onAbort } from "../../util/onAbort.js";
import { MAX_BYTES_AT_ONCE } from "../../util/slicedJson.js";
import { createSecretRemover } from "./urlSecrets.js";

/** The longest answer that is read. geth ends the answer of a batch at 25 MB. */
export const MAX_RESPONSE_BYTES = 33_554_432;

/** The answer is longer than what is read, or than there is room for. The connection was cut, and the calls may have been made. */
export class ResponseTooLargeError extends Error {
  override readonly name = "ResponseTooLargeError";
}

/** An HTTP response of an endpoint. */
export interface HttpAnswer {
  readonly status: number;
  /** The body, without what may be secret in the endpoint's URL. */
  readonly text: string;
  /** The header `Date`. */
  readonly date?: string | undefined;
  /** The header `Retry-After`. */
  readonly retryAfter?: string | undefined;
  /** The requests that may have reached the endpoint: 2 where the first met a kept connection that was reset. */
  readonly requests: number;
}

/** No answer came. `requests` may have reached the endpoint: 0 only where no connection was made. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  readonly requests: number;

  constructor(cause: Error, requests: number) {
    super(cause.message, { cause });
    this.requests = requests;
  }
}

export interface PosterOptions {
  readonly rpcTimeoutMs: number;
  /** Aborts every call in flight. */
  readonly signal: AbortSignal;
  /** The longest answer that is read. Default: {@link MAX_RESPONSE_BYTES}. */
  readonly maxResponseBytes?: number | undefined;
  /** Whether one more request may go at once, which then counts. Without it, one may. */
  readonly takeTurn?: (() => boolean) | undefined;
}

/** The memory of one answer. */
export interface AnswerMemory extends MemoryReservation {
  /** Resolves when an answer of more than {@link MAX_BYTES_AT_ONCE} may be read, which takes the event loop a tenth of a second for 10 MB. */
  turn?(bytes: number): Promise<void>;
}

/** Opens a reservation for one answer. */
export type OpenMemory = () => AnswerMemory;

/** Posts to one endpoint over connections that are kept alive. */
export interface Poster {
  /** The endpoint asks for no requests with these methods, or with any of this poster, before this time of the monotonic clock, in ms. */
  heldUntil?(methods?: readonly string[], isSend?: boolean): number;
  /**
   * @param isSend the request changes something.
   * @param openMemory counts the answer while it is read. Without it, nothing does.
   * @param methods of the calls in it.
   * @throws {@link NoAnswerError}
   */
  post(
    body: string,
    isSend?: boolean,
    openMemory?: OpenMemory,
    methods?: readonly string[],
  ): Promise<HttpAnswer>;
}

/**
 * The kept connection was reset. Most often the endpoint had closed it before the request came, but it may also have taken
 * the request. The request is sent once more over a new connection: reading changes nothing, and the same bytes are the
 * same transaction.
 */
class StaleConnectionError extends Error {}

function isStale({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean {
  return reusedSocket && (code === "ECONNRESET" || code === "EPIPE");
}

/**
 * A connection is kept for this long after its first answer, and for as long without a request, in ms. What an address leads to may
 * change without the end of a connection: a balancer that takes a node away because it is behind leaves the open ones to it.
 */
const MAX_KEPT_MS = 15_000;

function keptConnections(Agent: typeof http.Agent): http.Agent {
  const agent = new Agent({ keepAlive: true, timeout: MAX_KEPT_MS });
  const keptSince = new WeakMap<Duplex, number>();
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const now = performance.now();
    if (!keptSince.has(socket)) keptSince.set(socket, now);
    return now - (keptSince.get(socket) ?? now) < MAX_KEPT_MS && keep(socket);
  };
  return agent;
}

/** Uses `node:http` rather than `fetch`, whose streams and signals cost as much as everything else in a call. */
export function createPoster(
  url: string,
  { rpcTimeoutMs, signal, maxResponseBytes = MAX_RESPONSE_BYTES, takeTurn = () => true }: PosterOptions,
): Poster {
  const { Agent, request } = url.startsWith("https:") ? https : http;
  // The agents' sockets are the only list of calls in flight. A set that each call enters and leaves is rebuilt now and
  // then, and in V8 the old table keeps the new one alive: with it a call left 3 KB for a major collection, now 1 KB.
  const agents = { keepAlive: keptConnections(Agent), fresh: new Agent() };
  const removeSecrets = createSecretRemover(url);
  const { target, fields } = requestTo(url);
  const closing = new Error("the service is shutting down");
  onAbort(signal, () => {
    agents.keepAlive.destroy();
    agents.fresh.destroy();
  });
  const postOnce = (body: string, agent: http.Agent, memory?: AnswerMemory) =>
    new Promise<ReceivedAnswer>((resolve, reject) => {
      if (signal.aborted) return reject(closing);
      const fail = (error: Error) => reject(signal.aborted ? closing : error);
      const headers = [...fields, "content-length", String(Buffer.byteLength(body))];
      const clientRequest = request({ ...target, headers, agent });
      const onTimeout = () => clientRequest.destroy(new Error(`no answer within ${rpcTimeoutMs} ms`));
      const timer = setTimeout(onTimeout, rpcTimeoutMs);
      let answered: IncomingMessage | undefined;
      clientRequest.once("close", () => {
        clearTimeout(timer);
        if (answered?.readableEnded) return;
        memory?.release();
        fail(new Error("the connection was closed before the answer was complete"));
      });
      clientRequest.on("error", (error) =>
        fail(!answered && isStale(clientRequest, error) ? new StaleConnectionError() : error),
      );
      clientRequest.once("response", (response) => {
        answered = response;
        const tooLarge = (error: ResponseTooLargeError) => {
          fail(error);
          clientRequest.destroy();
        };
        const onAnswer = (answer: ReceivedAnswer) => {
          // Whoever gets the answer counts it from here.
          memory?.release();
          resolve({ ...answer, text: removeSecrets(answer.text) });
        };
        readAnswer(response, { maxBytes: maxResponseBytes, memory }, { fail, tooLarge, onAnswer });
      });
      clientRequest.end(body);
    });
  return {
    post: (body, _isSend, openMemory) =>
      withOneRepeat(
        () => postOnce(body, agents.keepAlive, openMemory?.()),
        () => postOnce(body, agents.fresh, openMemory?.()),
        ({ status, retryAfter }) => BACKEND_AWAY.has(status) && retryAfter === undefined && takeTurn(),
      ),
  };
}

/** Statuses by which a gateway says that its backend is away. It may have others that are well, unless it asks for silence. */
const BACKEND_AWAY: ReadonlySet<number> = new Set([502, 503]);

/**
 * Posts again where the kept connection was reset, or the answer is worth it, and counts the requests.
 * @throws {@link NoAnswerError}
 */
async function withOneRepeat(
  post: () => Promise<ReceivedAnswer>,
  postAgain: () => Promise<ReceivedAnswer>,
  isWorthRepeat: (answer: ReceivedAnswer) => boolean,
): Promise<HttpAnswer> {
  let earlier = 0;
  try {
    const repeat = () => {
      earlier = 1;
      return postAgain();
    };
    const first = await post().catch((error) => {
      if (!(error instanceof StaleConnectionError)) throw error;
      return repeat();
    });
    const answer = earlier === 0 && isWorthRepeat(first) ? await repeat() : first;
    return { ...answer, requests: earlier + 1 };
  } catch (error) {
    throw new NoAnswerError(error as Error, earlier + (wasNeverSent(error) ? 0 : 1));
  }
}

type ReceivedAnswer = Omit<HttpAnswer, "requests">;

/**
 * Returns the parts that all requests to a URL have in common. Header fields in a list, and a server name, spare Node a good part
 * of the work of each request: it writes the list as it is.
 */
function requestTo(url: string) {
  const parsed = new URL(url);
  const { protocol, hostname, port, path, auth } = urlToHttpOptions(parsed);
  const address = hostname ?? "";
  return {
    target: { protocol, hostname, port, path, method: "POST", servername: isIP(address) ? "" : address },
    fields: [
      ...["host", parsed.host, "content-type", "application/json"],
      ...(auth ? ["authorization", `Basic ${Buffer.from(auth).toString("base64")}`] : []),
    ],
  };
}

interface AnswerReader {
  fail(error: Error): void;
  tooLarge(error: ResponseTooLargeError): void;
  onAnswer(answer: ReceivedAnswer): void;
}

/** Reads an answer of at most `maxBytes`, while there is memory for it. */
function readAnswer(
  response: IncomingMessage,
  { maxBytes, memory }: { readonly maxBytes: number; readonly memory: AnswerMemory | undefined },
  { fail, tooLarge, onAnswer }: AnswerReader,
): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  response.on("data", (part: Buffer) => {
    bytes += part.length;
    parts.push(part);
    try {
      memory?.grow(part.length);
    } catch (cause) {
      return tooLarge(new ResponseTooLargeError("there is no memory for the answer", { cause }));
    }
    if (bytes > maxBytes) tooLarge(new ResponseTooLargeError(`the answer has more than ${maxBytes} bytes`));
  });
  response.once("end", async () => {
    if (bytes > MAX_BYTES_AT_ONCE) await memory?.turn?.(bytes);
    const { statusCode: status = 0, headers } = response;
    onAnswer({
      status,
      text: Buffer.concat(parts).toString(),
      date: headers.date,
      retryAfter: headers["retry-after"],
    });
  });
  response.once("error", fail);
}
