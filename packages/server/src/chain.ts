import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";

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

export interface Receipt {
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
  readonly gasUsed: bigint;
  readonly succeeded: boolean;
}

/** The calls of the chain node that the service uses. Addresses are 20 bytes, hashes 32. */
export interface Chain {
  /** What the node is: `genesisHash` tells it from another chain with the same id. */
  identity(): Promise<{ chainId: number; genesisHash: Uint8Array }>;
  blockNumber(): Promise<bigint>;
  /** The next nonces by the latest block, in the order of the addresses. */
  nonces(addresses: readonly Uint8Array[]): Promise<bigint[]>;
  /** The receipts, in the order of the hashes; undefined for a transaction that is in no block. */
  receipts(hashes: readonly Uint8Array[]): Promise<(Receipt | undefined)[]>;
  /** Does the node know these transactions, in its pool or in a block? In the order of the hashes. */
  knowsTransactions(hashes: readonly Uint8Array[]): Promise<boolean[]>;
  /** Sends signed bytes in one batch, in order. Never throws, never repeats: each has its own outcome. */
  sendRawTransactions(raws: readonly Uint8Array[]): Promise<RpcOutcome[]>;
}

/** What the outcome says it is, or throws. */
function resultOf(outcome: RpcOutcome): unknown {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

interface Call {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A chain node over HTTP JSON-RPC. `signal` ends every call under way. */
export function createChain(options: { rpcUrl: string; rpcTimeoutMs: number; signal: AbortSignal }): Chain {
  const batch = (calls: readonly Call[]) => postBatch(options, calls);
  const results = async (calls: readonly Call[]) => (await batch(calls)).map(resultOf);
  return {
    async identity() {
      const [chainId, genesis] = await results([
        { method: "eth_chainId", params: [] },
        { method: "eth_getBlockByNumber", params: ["0x0", false] },
      ]);
      const hash = isObject(genesis) ? genesis.hash : undefined;
      return { chainId: Number(quantity(chainId)), genesisHash: hash32(hash) };
    },
    async blockNumber() {
      const [number] = await results([{ method: "eth_blockNumber", params: [] }]);
      return quantity(number);
    },
    async nonces(addresses) {
      const method = "eth_getTransactionCount";
      const answers = await results(addresses.map((a) => ({ method, params: [bytesToHex(a), "latest"] })));
      return answers.map(quantity);
    },
    async receipts(hashes) {
      const method = "eth_getTransactionReceipt";
      const answers = await results(hashes.map((hash) => ({ method, params: [bytesToHex(hash)] })));
      return answers.map(receiptOf);
    },
    async knowsTransactions(hashes) {
      const method = "eth_getTransactionByHash";
      const answers = await results(hashes.map((hash) => ({ method, params: [bytesToHex(hash)] })));
      return answers.map((answer) => answer !== null);
    },
    sendRawTransactions: (raws) =>
      batch(raws.map((raw) => ({ method: "eth_sendRawTransaction", params: [bytesToHex(raw)] }))),
  };
}

async function postBatch(
  options: { rpcUrl: string; rpcTimeoutMs: number; signal: AbortSignal },
  calls: readonly Call[],
): Promise<RpcOutcome[]> {
  if (calls.length === 0) return [];
  const patience = createPatience(options);
  try {
    const requests = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
    const response = await fetch(options.rpcUrl, {
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
function createPatience({ rpcTimeoutMs, signal }: { rpcTimeoutMs: number; signal: AbortSignal }) {
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
    const text = typeof message === "string" ? message : "error without a message";
    return { error: new RpcError(typeof code === "number" ? code : 0, text, data) };
  }
  return "result" in answer ? { result: answer.result } : undefined;
}

function httpError(response: Response, text: string): RpcUnavailableError {
  const start = text.slice(0, 80).replace(/\s+/g, " ");
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

function receiptOf(value: unknown): Receipt | undefined {
  if (value === null) return undefined;
  if (!isObject(value)) throw malformed("a receipt", value);
  return {
    blockNumber: quantity(value.blockNumber),
    blockHash: hash32(value.blockHash),
    gasUsed: quantity(value.gasUsed),
    succeeded: quantity(value.status) === 1n,
  };
}

function quantity(value: unknown): bigint {
  if (typeof value !== "string" || !/^0x[0-9a-f]+$/i.test(value)) throw malformed("a quantity", value);
  return BigInt(value);
}

function hash32(value: unknown): Uint8Array {
  if (typeof value !== "string" || !/^0x[0-9a-f]{64}$/i.test(value)) throw malformed("a hash", value);
  return hexToBytes(value as Hex);
}

function malformed(what: string, value: unknown): RpcUnavailableError {
  const shown = JSON.stringify(value)?.slice(0, 80);
  return new RpcUnavailableError(`the node answered ${shown} where ${what} was expected`, "unknown");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
