import { bytesToHex, type Hex, revertDataIn } from "@gas-waiver/protocol";
import { CommandFailedError } from "./errorMessage.js";

export interface Receipt {
  readonly status: Hex;
  readonly blockNumber: Hex;
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[] }[];
}

/** The node answered with an error; a call that reverted says why in `revert`. */
export class JsonRpcError extends Error {
  override readonly name = "NodeError";
  readonly revert: Hex | undefined;

  constructor(message: string, revert: Hex | undefined) {
    super(message);
    this.revert = revert;
  }
}

/** A chain's node over JSON-RPC. What cannot be reached or understood ends the command with a sentence. */
export class JsonRpcClient {
  readonly #url: string;
  readonly #signal: AbortSignal;

  constructor(url: string, signal: AbortSignal) {
    this.#url = url;
    this.#signal = signal;
  }

  /** Runs a call on the latest state. @throws {@link NodeError} */
  async call(to: Uint8Array, data: Uint8Array): Promise<Hex> {
    return this.request<Hex>("eth_call", [{ to: bytesToHex(to), data: bytesToHex(data) }, "latest"]);
  }

  async quantity(method: string, params: readonly unknown[] = []): Promise<bigint> {
    const result = await this.request<unknown>(method, params);
    if (typeof result === "string" && /^0x[0-9a-fA-F]+$/.test(result)) return BigInt(result);
    throw new CommandFailedError(`the node at ${this.#at} answers ${method} with no number`);
  }

  /** @throws {@link NodeError} or {@link CommandFailedError} */
  async request<Result>(method: string, params: readonly unknown[]): Promise<Result> {
    const answer = await this.#post({ jsonrpc: "2.0", id: 1, method, params });
    if (answer.error !== undefined)
      throw new JsonRpcError(answer.error.message, revertDataIn(answer.error.data));
    return answer.result as Result;
  }

  async #post(body: object): Promise<Answer> {
    // Not AbortSignal.any with AbortSignal.timeout: Node holds those weakly, and a timer may be collected.
    const patience = new AbortController();
    const end = () => patience.abort();
    const timer = setTimeout(end, ANSWER_WITHIN_MS);
    this.#signal.addEventListener("abort", end);
    try {
      return await this.#fetch(body, patience.signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof CommandFailedError) throw error;
      throw new CommandFailedError(`the node at ${this.#at} cannot be reached: ${causeOf(error)}`);
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener("abort", end);
    }
  }

  async #fetch(body: object, signal: AbortSignal): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    const response = await fetch(this.#url, { method: "POST", headers, body: JSON.stringify(body), signal });
    const text = await response.text();
    const answer = jsonOf(text);
    if (isAnswer(answer)) return answer;
    throw new CommandFailedError(
      `what answers at ${this.#at} is no JSON-RPC node (status ${response.status})`,
    );
  }

  /** Without user, password, path and query: they may hold a secret. */
  get #at(): string {
    return new URL(this.#url).host;
  }
}

const ANSWER_WITHIN_MS = 30_000;

interface Answer {
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly data?: unknown };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isAnswer(value: unknown): value is Answer {
  if (typeof value !== "object" || value === null) return false;
  if ("result" in value) return true;
  if (!("error" in value) || typeof value.error !== "object" || value.error === null) return false;
  return "message" in value.error && typeof value.error.message === "string";
}

function causeOf(error: unknown): string {
  const { cause, message } = error as Error & { cause?: { code?: unknown; message?: unknown } };
  // `fetch` hides what happened under its own "fetch failed".
  return String(cause?.code ?? cause?.message ?? message);
}
