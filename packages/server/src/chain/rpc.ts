import http, { type ClientRequest } from "node:http";
import https from "node:https";
import { urlToHttpOptions } from "node:url";
import { wasNeverSent } from "@gas-waiver/protocol";

/** Calls in one batch: Erigon and Bor refuse more, unless they are told otherwise. */
export const MAX_BATCH_CALLS = 100;

/** One call of a JSON-RPC batch. */
export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The node answered a call with a JSON-RPC error. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * No usable answer came. `sent` tells whether the node may have seen the request: `no` if it surely has not
 * (connection refused, rate limited), `unknown` otherwise (time-out, reset, 5xx, garbage).
 */
export class RpcUnavailableError extends Error {
  override readonly name = "RpcUnavailableError";
  readonly sent: "no" | "unknown";

  constructor(message: string, sent: "no" | "unknown", options?: ErrorOptions) {
    super(message, options);
    this.sent = sent;
  }
}

/** One call's outcome: its result, or the error that the node answered or that stands for no answer. */
export type RpcOutcome = { readonly result: unknown } | { readonly error: RpcError | RpcUnavailableError };

/** The chain's nodes behind one door. */
export interface Rpc {
  /** Asks the first healthy node, and the next ones while no answer comes: for calls that change nothing. */
  read(calls: readonly RpcCall[]): Promise<RpcOutcome[]>;
  /**
   * Sends to one node, and to the next only if the first surely has not seen it: what may have been delivered is
   * for the caller to find out. The node that failed is left alone for a while.
   */
  send(calls: readonly RpcCall[]): Promise<RpcOutcome[]>;
  /** Whether each node answered when it was last asked. */
  health(): readonly { readonly url: string; readonly healthy: boolean }[];
}

export interface RpcOptions {
  /** In the order of preference. */
  readonly rpcUrls: readonly string[];
  readonly rpcTimeoutMs: number;
  /** Ends every call under way. */
  readonly signal: AbortSignal;
}

const REST_MS = 1_000;
const MAX_REST_MS = 30_000;
const MAX_MESSAGE_CHARACTERS = 500;

interface Endpoint {
  readonly poster: Poster;
  failures: number;
  /** By the monotonic clock, in ms: left alone until then. */
  restsUntil: number;
}

/** The endpoints of a chain: the first in order that is well is used; one that failed rests, longer each time. */
export function createRpc(options: RpcOptions): Rpc {
  const endpoints: Endpoint[] = options.rpcUrls.map((url) => ({
    poster: createPoster(url, options),
    failures: 0,
    restsUntil: 0,
  }));
  const inOrder = () => {
    const now = performance.now();
    const well = endpoints.filter(({ restsUntil }) => restsUntil <= now);
    const resting = endpoints.filter(({ restsUntil }) => restsUntil > now);
    return [...well, ...resting.sort((a, b) => a.restsUntil - b.restsUntil)];
  };
  const ask = async (endpoint: Endpoint, calls: readonly RpcCall[]) => {
    const outcomes = await postBatch(endpoint.poster, calls);
    const failure = failureOf(outcomes);
    endpoint.failures = failure ? endpoint.failures + 1 : 0;
    const restMs = Math.min(MAX_REST_MS, REST_MS * 2 ** (endpoint.failures - 1));
    endpoint.restsUntil = failure ? performance.now() + restMs : 0;
    return { outcomes, failure };
  };
  const until = async (calls: readonly RpcCall[], mayGoOn: (failure: RpcUnavailableError) => boolean) => {
    let outcomes: RpcOutcome[] = [];
    if (calls.length === 0) return outcomes;
    for (const endpoint of inOrder()) {
      const answer = await ask(endpoint, calls);
      outcomes = answer.outcomes;
      if (!answer.failure || !mayGoOn(answer.failure) || options.signal.aborted) return outcomes;
    }
    return outcomes;
  };
  return {
    read: (calls) => until(calls, () => true),
    send: (calls) => until(calls, ({ sent }) => sent === "no"),
    health: () => endpoints.map(({ poster, failures }) => ({ url: poster.url, healthy: failures === 0 })),
  };
}

/** The failure of a whole exchange, if it is one: then every call has the same. */
function failureOf(outcomes: readonly RpcOutcome[]): RpcUnavailableError | undefined {
  const first = outcomes[0];
  if (first === undefined || !("error" in first) || first.error instanceof RpcError) return undefined;
  return outcomes.every((outcome) => "error" in outcome && outcome.error === first.error)
    ? first.error
    : undefined;
}

/** Posts to one endpoint, over connections that stay open. */
interface Poster {
  readonly url: string;
  post(body: string): Promise<HttpAnswer>;
}

/**
 * The node had closed the open connection that the request went over: no node works on it. Whatever is sent, it is
 * safe to send once more, over a new one: reading changes nothing, and the same bytes are the same transaction.
 */
class StaleConnectionError extends Error {}

function isStale({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean {
  return reusedSocket && (code === "ECONNRESET" || code === "EPIPE");
}

/** Not fetch: its streams and signals cost as much as everything else that a call does. */
function createPoster(url: string, { rpcTimeoutMs, signal }: Omit<RpcOptions, "rpcUrls">): Poster {
  const { Agent, request } = url.startsWith("https:") ? https : http;
  // Their sockets are all that knows the calls under way. A set that each call enters and leaves is made anew now and
  // then, and in V8 the old one holds the new: a call left 3 KB for the next large collection so, 1 KB without.
  const agents = { kept: new Agent({ keepAlive: true }), fresh: new Agent() };
  const target = { ...urlToHttpOptions(new URL(url)), method: "POST" };
  const closing = new Error("the service is shutting down");
  signal.addEventListener("abort", () => {
    agents.kept.destroy();
    agents.fresh.destroy();
  });
  const postOnce = (body: string, agent: http.Agent) =>
    new Promise<HttpAnswer>((resolve, reject) => {
      if (signal.aborted) return reject(closing);
      const fail = (error: Error) => reject(signal.aborted ? closing : error);
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const sent = request({ ...target, headers, agent });
      const late = () => sent.destroy(new Error(`no answer within ${rpcTimeoutMs} ms`));
      const timer = setTimeout(late, rpcTimeoutMs);
      let whole = false;
      sent.once("close", () => {
        clearTimeout(timer);
        if (!whole) fail(new Error("the connection was closed before the answer was whole"));
      });
      let answered = false;
      sent.on("error", (error) =>
        fail(!answered && isStale(sent, error) ? new StaleConnectionError() : error),
      );
      sent.once("response", (response) => {
        answered = true;
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.once("end", () => {
          whole = true;
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() });
        });
        response.once("error", fail);
      });
      sent.end(body);
    });
  const post: Poster["post"] = (body) =>
    postOnce(body, agents.kept).catch((error) => {
      if (error instanceof StaleConnectionError) return postOnce(body, agents.fresh);
      throw error;
    });
  return { url, post };
}

async function postBatch(poster: Poster, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
  try {
    const requests = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    const response = await poster.post(JSON.stringify(requests.length === 1 ? requests[0] : requests));
    return outcomesOf(response, calls.length);
  } catch (error) {
    const unavailable = unavailableFor(error);
    return calls.map(() => ({ error: unavailable }));
  }
}

/** What an endpoint answered over HTTP. */
interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

function outcomesOf(response: HttpAnswer, count: number): RpcOutcome[] {
  const answers = answersOf(response.text);
  const outcomes: (RpcOutcome | undefined)[] = Array.from({ length: count });
  // Rate limited: whatever the body says, nothing was looked at.
  if (response.status !== RATE_LIMITED) {
    // An error of the whole batch comes as one object without an id.
    const whole = answers.length === 1 && answers[0]?.id === null ? answers[0] : undefined;
    if (whole !== undefined) outcomes.fill(outcomeOf(whole));
    for (const answer of answers) {
      if (typeof answer.id === "number" && answer.id in outcomes) outcomes[answer.id] = outcomeOf(answer);
    }
  }
  let unusable: RpcOutcome | undefined;
  return outcomes.map((outcome) => {
    if (outcome) return outcome;
    unusable ??= { error: httpError(response) };
    return unusable;
  });
}

function answersOf(text: string): Record<string, unknown>[] {
  try {
    const body: unknown = JSON.parse(text);
    return (Array.isArray(body) ? body : [body]).filter(isObject);
  } catch {
    return [];
  }
}

function outcomeOf(answer: Record<string, unknown>): RpcOutcome | undefined {
  if (isObject(answer.error)) {
    const { code, message, data } = answer.error;
    const text = typeof message === "string" ? shorten(message) : "error without a message";
    return { error: new RpcError(typeof code === "number" ? code : 0, text, data) };
  }
  return "result" in answer ? { result: answer.result } : undefined;
}

/** A node's words go into logs, lines and the store: no control characters (PostgreSQL takes no NUL), no megabytes. */
function shorten(text: string): string {
  const start = text.slice(0, MAX_MESSAGE_CHARACTERS).replace(/[\p{Cc}\p{Cs}]/gu, " ");
  return text.length > MAX_MESSAGE_CHARACTERS ? `${start}…` : start;
}

const RATE_LIMITED = 429;

function httpError({ status, text }: HttpAnswer): RpcUnavailableError {
  const start = shorten(text.slice(0, 80)).replace(/\s+/g, " ");
  const message = `the node answered HTTP ${status} without a usable JSON-RPC answer: ${start}`;
  return new RpcUnavailableError(message, status === RATE_LIMITED ? "no" : "unknown");
}

function unavailableFor(error: unknown): RpcUnavailableError {
  const code = isObject(error) && typeof error.code === "string" ? error.code : undefined;
  const said = error instanceof Error ? error.message : String(error);
  return new RpcUnavailableError(
    `the node gave no answer: ${code ?? said}`,
    wasNeverSent(error) ? "no" : "unknown",
    { cause: error },
  );
}

/** Is it a JSON object (or array)? */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
