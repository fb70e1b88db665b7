import http, { type ClientRequest } from "node:http";
import https from "node:https";
import { urlToHttpOptions } from "node:url";
import { wasNeverSent } from "@gas-waiver/protocol";

/** Calls in one batch. Erigon and Bor refuse more by default. */
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

/** One call's outcome: its result, the error that the node answered, or the one that stands for no answer. */
export type RpcOutcome = { readonly result: unknown } | { readonly error: RpcError | RpcUnavailableError };

/** JSON-RPC to one of the chain's nodes, whichever is healthy. */
export interface Rpc {
  /** Calls the first healthy node, and the next ones while no answer comes. For calls that change nothing. */
  read(calls: readonly RpcCall[]): Promise<RpcOutcome[]>;
  /**
   * Sends to one node, and to the next only if the first surely has not seen the request. Otherwise the caller must find
   * out whether it arrived. A node that failed rests for a while.
   */
  send(calls: readonly RpcCall[]): Promise<RpcOutcome[]>;
  /** Tells of each node whether it answered its last request. */
  health(): readonly { readonly url: string; readonly healthy: boolean }[];
}

export interface RpcOptions {
  /** In the order of preference. */
  readonly rpcUrls: readonly string[];
  readonly rpcTimeoutMs: number;
  /** Aborts every call in flight. */
  readonly signal: AbortSignal;
}

const REST_MS = 1_000;
const MAX_REST_MS = 30_000;
const MAX_MESSAGE_CHARACTERS = 500;

interface Endpoint {
  readonly poster: Poster;
  failures: number;
  /** The end of the endpoint's rest by the monotonic clock, in ms. */
  restsUntil: number;
}

/** Uses the first healthy endpoint in order. An endpoint that failed rests, each time twice as long. */
export function createRpc(options: RpcOptions): Rpc {
  const endpoints: Endpoint[] = options.rpcUrls.map((url) => ({
    poster: createPoster(url, options),
    failures: 0,
    restsUntil: 0,
  }));
  const inOrder = () => {
    const now = performance.now();
    const healthy = endpoints.filter(({ restsUntil }) => restsUntil <= now);
    const resting = endpoints.filter(({ restsUntil }) => restsUntil > now);
    return [...healthy, ...resting.sort((a, b) => a.restsUntil - b.restsUntil)];
  };
  const post = async (endpoint: Endpoint, calls: readonly RpcCall[]) => {
    const outcomes = await postBatch(endpoint.poster, calls);
    const failure = failureOf(outcomes);
    endpoint.failures = failure ? endpoint.failures + 1 : 0;
    const restMs = Math.min(MAX_REST_MS, REST_MS * 2 ** (endpoint.failures - 1));
    endpoint.restsUntil = failure ? performance.now() + restMs : 0;
    return { outcomes, failure };
  };
  const tryEach = async (calls: readonly RpcCall[], mayGoOn: (failure: RpcUnavailableError) => boolean) => {
    let outcomes: RpcOutcome[] = [];
    if (calls.length === 0) return outcomes;
    for (const endpoint of inOrder()) {
      const answer = await post(endpoint, calls);
      outcomes = answer.outcomes;
      if (!answer.failure || !mayGoOn(answer.failure) || options.signal.aborted) return outcomes;
    }
    return outcomes;
  };
  return {
    read: (calls) => tryEach(calls, () => true),
    send: (calls) => tryEach(calls, ({ sent }) => sent === "no"),
    health: () => endpoints.map(({ poster, failures }) => ({ url: poster.url, healthy: failures === 0 })),
  };
}

/** Returns the failure of the whole request, which every call shares; undefined if a call has its own outcome. */
function failureOf(outcomes: readonly RpcOutcome[]): RpcUnavailableError | undefined {
  const first = outcomes[0];
  if (first === undefined || !("error" in first) || first.error instanceof RpcError) return undefined;
  return outcomes.every((outcome) => "error" in outcome && outcome.error === first.error)
    ? first.error
    : undefined;
}

/** Posts to one endpoint over connections that are kept alive. */
interface Poster {
  readonly url: string;
  post(body: string): Promise<HttpAnswer>;
}

/**
 * The node had closed the kept connection before the request came, so no node works on it. The request may be sent once
 * more over a new connection: reading changes nothing, and the same bytes are the same transaction.
 */
class StaleConnectionError extends Error {}

function isStale({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException): boolean {
  return reusedSocket && (code === "ECONNRESET" || code === "EPIPE");
}

/** Uses `node:http` rather than `fetch`, whose streams and signals cost as much as everything else in a call. */
function createPoster(url: string, { rpcTimeoutMs, signal }: Omit<RpcOptions, "rpcUrls">): Poster {
  const { Agent, request } = url.startsWith("https:") ? https : http;
  // The agents' sockets are the only list of calls in flight. A set that each call enters and leaves is rebuilt now and
  // then, and in V8 the old table keeps the new one alive: with it a call left 3 KB for a major collection, now 1 KB.
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

/** An HTTP response of an endpoint. */
interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

function outcomesOf(response: HttpAnswer, count: number): RpcOutcome[] {
  const answers = answersOf(response.text);
  const outcomes: (RpcOutcome | undefined)[] = Array.from({ length: count });
  // A rate limiter has answered, and the node has seen nothing, whatever the body says.
  if (response.status !== RATE_LIMITED) {
    // An error of the whole batch is one object without an id.
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

/** Cuts a node's text, which goes into logs, lines and the store, and removes control characters: PostgreSQL takes no NUL. */
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
