import { classifySendError, type Hex, type SendVerdict, wasNeverSent } from "@gas-waiver/protocol";
import { ConnectionFailedError, MalformedAnswerError, WaiverClientError } from "../errors.js";
import { pause } from "../http/pause.js";

/** Asks one endpoint for several things at once. @returns the results in the order of the calls. */
export type Ask = (calls: readonly NodeCall[]) => Promise<unknown[]>;

interface NodeCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The meaning of the endpoints' answers to the same bytes. */
export interface SendOutcome {
  readonly verdict: SendVerdict;
  /** Whether an endpoint whose answer is not the verdict may have the bytes too. */
  readonly isElsewhere: boolean;
}

interface NodesOptions {
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** The most calls of one request. */
  readonly maxBatchSize: number;
  readonly requestTimeoutMs: number;
}

/** An answer to one call. A call without one has the error that says why. */
type Answer =
  | { readonly result: unknown }
  | { readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly missing: WaiverClientError };

/** The endpoints of a chain's nodes, asked in their order: a later one where those before it fail. */
export class Nodes {
  readonly #urls: readonly string[];
  readonly #options: NodesOptions;
  /** The endpoints that answer no lists of calls. */
  readonly #single = new Set<string>();
  readonly #closing = new AbortController();

  constructor(urls: readonly (string | URL)[], options: NodesOptions) {
    this.#urls = urls.map(String);
    this.#options = options;
  }

  /**
   * Reads from the first endpoint that answers everything, again until one does.
   * @param endsAt the time on `performance.now()` after which no more is asked; at once by default.
   * @throws the last endpoint's error.
   */
  async read<T>(read: (ask: Ask) => Promise<T>, endsAt = 0): Promise<T> {
    let error: unknown;
    for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      for (const url of this.#urls) {
        try {
          return await read(async (calls) => (await this.#call(url, calls)).map(resultOf));
        } catch (thrown) {
          this.#closing.signal.throwIfAborted();
          error = thrown;
        }
      }
      if (performance.now() + pauseMs >= endsAt) throw error;
      await pause(pauseMs, this.#closing.signal);
    }
  }

  /**
   * Sends wrappers, in their order, to the first endpoint, and those that got no answer there to the next one.
   * @param wrappers their bytes and hashes.
   */
  async send(wrappers: readonly { readonly raw: Hex; readonly hash: Hex }[]): Promise<SendOutcome[]> {
    const outcomes = wrappers.map((): SendOutcome => ({ verdict: NOT_REACHED, isElsewhere: false }));
    for (const url of this.#urls) {
      const open = [...outcomes.keys()].filter((i) => isUnanswered(outcomes[i]));
      const calls = open.map((i) => ({ method: "eth_sendRawTransaction", params: [wrappers[i]?.raw] }));
      const answers = open.length > 0 ? await this.#call(url, calls) : [];
      for (const [at, i] of open.entries()) {
        const verdict = verdictOf(answers[at], wrappers[i]?.hash);
        // The bytes may be where no answer came from.
        const before = outcomes[i] ?? { verdict: NOT_REACHED, isElsewhere: false };
        const isElsewhere = before.isElsewhere || before.verdict.kind === "ambiguous";
        const isWorse = verdict === NOT_REACHED && before.verdict.kind === "ambiguous";
        outcomes[i] = isWorse ? before : { verdict, isElsewhere };
      }
    }
    return outcomes;
  }

  /** Ends all requests. */
  close(reason: Error): void {
    this.#closing.abort(reason);
  }

  /** Never rejects, but for a close. */
  async #call(url: string, calls: readonly NodeCall[]): Promise<Answer[]> {
    const answers: Answer[] = [];
    while (answers.length < calls.length) {
      const size = this.#single.has(url) ? 1 : this.#options.maxBatchSize;
      const part = calls.slice(answers.length, answers.length + size);
      const got = await this.#callOnce(url, part);
      answers.push(...got);
      const [first] = got;
      // The calls after one that the endpoint has not answered would fare no better.
      if (first && "missing" in first) while (answers.length < calls.length) answers.push(NOT_ASKED);
    }
    return answers;
  }

  async #callOnce(url: string, calls: readonly NodeCall[]): Promise<Answer[]> {
    const { fetch, requestTimeoutMs } = this.#options;
    const timeout = new AbortController();
    const late = new Error(`no answer within ${requestTimeoutMs} ms`);
    const timer = setTimeout(() => timeout.abort(late), requestTimeoutMs);
    const end = () => timeout.abort(this.#closing.signal.reason);
    this.#closing.signal.addEventListener("abort", end);
    const bodies = calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
    const [only] = bodies;
    try {
      this.#closing.signal.throwIfAborted();
      const body = bodies.length === 1 && only ? only : bodies;
      const { status, answer } = await post(url, body, { fetch, signal: timeout.signal });
      if (bodies.length > 1 && !Array.isArray(answer)) this.#single.add(url);
      return calls.map((_, id) => answerOf(answer, id, status));
    } catch (error) {
      this.#closing.signal.throwIfAborted();
      const isOwn = error instanceof WaiverClientError;
      const missing = isOwn
        ? error
        : new ConnectionFailedError(new URL(url).origin, "unknown", error, "node");
      return calls.map(() => ({ missing }));
    } finally {
      clearTimeout(timer);
      this.#closing.signal.removeEventListener("abort", end);
    }
  }
}

/** The pauses before a read is repeated, in ms. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;

/** The verdict on bytes that no endpoint can have. */
const NOT_REACHED: SendVerdict = { kind: "not now", message: "no endpoint could be reached" };
const NOT_ASKED: Answer = {
  missing: new ConnectionFailedError("the address", "not_sent", undefined, "node"),
};

function isUnanswered(outcome: SendOutcome | undefined): boolean {
  return outcome?.verdict === NOT_REACHED || outcome?.verdict.kind === "ambiguous";
}

/** Whether the endpoints surely do not have the bytes. */
export function wasNotReached({ verdict, isElsewhere }: SendOutcome): boolean {
  return verdict === NOT_REACHED && !isElsewhere;
}

/** Finds the answer with the call's own id. Errors of a whole request are no answer to any call. */
function answerOf(answer: unknown, id: number, status: number): Answer {
  const all = Array.isArray(answer) ? answer : [answer];
  const own = all.map(membersOf).filter((one) => one.id === id);
  const [{ result, error, ...others } = {}] = own;
  const { code, message, data } = membersOf(error);
  if (own.length === 1 && status < 400) {
    if (typeof code === "number" && typeof message === "string") return { code, message, data };
    if (result !== undefined && "jsonrpc" in others) return { result };
  }
  const words = typeof message === "string" ? `: ${message}` : "";
  return { missing: new MalformedAnswerError(status, `the node has not answered the call${words}`) };
}

function resultOf(answer: Answer): unknown {
  if ("result" in answer) return answer.result;
  throw "missing" in answer ? answer.missing : new MalformedAnswerError(200, answer.message);
}

function verdictOf(answer: Answer | undefined, hash: Hex | undefined): SendVerdict {
  if (answer === undefined) return NOT_REACHED;
  if ("missing" in answer) {
    const { missing } = answer;
    const isUnsent = missing instanceof ConnectionFailedError && missing.certainty === "not_sent";
    return isUnsent ? NOT_REACHED : { kind: "ambiguous", message: missing.message };
  }
  if (!("result" in answer)) return classifySendError(answer);
  const { result } = answer;
  if (typeof result === "string" && result.toLowerCase() === hash) return { kind: "accepted" };
  return { kind: "disputed", message: "the node answered with another hash" };
}

/** Ways to send a request to a node. */
export interface PostOptions {
  readonly signal?: AbortSignal | undefined;
  /** The `fetch` to use; the platform's own by default. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Sends one JSON-RPC request, once.
 * @param body one call, or a list of calls.
 * @throws ConnectionFailedError without an answer, MalformedAnswerError for one that is no JSON, or the reason of an aborted
 * signal. They name only the origin of the address, since paths of nodes hold keys.
 */
export async function post(
  rpcUrl: string | URL,
  body: object,
  { signal, fetch = globalThis.fetch }: PostOptions,
): Promise<{ readonly status: number; readonly answer: unknown }> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) };
  const failed = (cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    const certainty = wasNeverSent(cause) ? "not_sent" : "unknown";
    throw new ConnectionFailedError(new URL(rpcUrl).origin, certainty, cause, "node");
  };
  const response = await fetch(rpcUrl, init).catch(failed);
  const text = await response.text().catch(failed);
  const { status } = response;
  try {
    return { status, answer: JSON.parse(text) };
  } catch (cause) {
    throw new MalformedAnswerError(status, `the node answered with status ${status} and no JSON`, { cause });
  }
}

export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
