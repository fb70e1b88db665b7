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
  readonly url: string;
  failures: number;
  /** By the monotonic clock, in ms: left alone until then. */
  restsUntil: number;
}

/** The endpoints of a chain: the first in order that is well is used; one that failed rests, longer each time. */
export function createRpc(options: RpcOptions): Rpc {
  const endpoints: Endpoint[] = options.rpcUrls.map((url) => ({ url, failures: 0, restsUntil: 0 }));
  const inOrder = () => {
    const now = performance.now();
    const well = endpoints.filter(({ restsUntil }) => restsUntil <= now);
    const resting = endpoints.filter(({ restsUntil }) => restsUntil > now);
    return [...well, ...resting.sort((a, b) => a.restsUntil - b.restsUntil)];
  };
  const ask = async (endpoint: Endpoint, calls: readonly RpcCall[]) => {
    const outcomes = await postBatch(endpoint.url, options, calls);
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
    health: () => endpoints.map(({ url, failures }) => ({ url, healthy: failures === 0 })),
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

async function postBatch(
  rpcUrl: string,
  options: { readonly rpcTimeoutMs: number; readonly signal: AbortSignal },
  calls: readonly RpcCall[],
): Promise<RpcOutcome[]> {
  if (calls.length === 0) return [];
  const patience = createPatience(options);
  try {
    const requests = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    const response = await fetch(rpcUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(requests.length === 1 ? requests[0] : requests),
      signal: patience.signal,
    });
    return outcomesOf(response, await response.text(), calls.length);
  } catch (error) {
    const unavailable = unavailableFor(error);
    return calls.map(() => ({ error: unavailable }));
  } finally {
    patience.end();
  }
}

/**
 * A signal that ends a call after its time, or with the service. Not AbortSignal.any with AbortSignal.timeout: Node
 * holds those weakly, and a call whose timer was garbage waited for ever.
 */
function createPatience({ rpcTimeoutMs, signal }: Pick<RpcOptions, "rpcTimeoutMs" | "signal">) {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new Error(`no answer within ${rpcTimeoutMs} ms`)),
    rpcTimeoutMs,
  );
  const close = () => controller.abort(new Error("the service is shutting down"));
  if (signal.aborted) close();
  signal.addEventListener("abort", close);
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", close);
    },
  };
}

function outcomesOf(response: Response, text: string, count: number): RpcOutcome[] {
  const answers = answersOf(text);
  const error = httpError(response, text);
  const outcomes: RpcOutcome[] = Array.from({ length: count }, () => ({ error }));
  // Rate limited: whatever the body says, nothing was looked at.
  if (error.sent === "no") return outcomes;
  // An error of the whole batch comes as one object without an id.
  const whole = answers.length === 1 && answers[0]?.id === null ? answers[0] : undefined;
  if (whole !== undefined) return outcomes.map(() => outcomeOf(whole) ?? { error });
  for (const answer of answers) {
    if (typeof answer.id === "number" && answer.id in outcomes) {
      outcomes[answer.id] = outcomeOf(answer) ?? { error };
    }
  }
  return outcomes;
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

function httpError(response: Response, text: string): RpcUnavailableError {
  const start = shorten(text.slice(0, 80)).replace(/\s+/g, " ");
  const message = `the node answered HTTP ${response.status} without a usable JSON-RPC answer: ${start}`;
  return new RpcUnavailableError(message, response.status === 429 ? "no" : "unknown");
}

const SURELY_NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

function unavailableFor(error: unknown): RpcUnavailableError {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = isObject(cause) && typeof cause.code === "string" ? cause.code : undefined;
  const said = error instanceof Error ? error.message : String(error);
  return new RpcUnavailableError(
    `the node gave no answer: ${code ?? said}`,
    code !== undefined && SURELY_NOT_SENT.has(code) ? "no" : "unknown",
    { cause: error },
  );
}

/** Is it a JSON object (or array)? */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
