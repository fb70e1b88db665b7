import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex, type Hex, revertDataIn } from "@gas-waiver/protocol";
import { CommandFailedError, unreachable } from "./errorMessage.js";
import { url, wholeNumber } from "./settings/parsers.js";
import { namesOf } from "./settings/setting.js";

/** The setting of a command that asks a node of the chain, but for its sentence. */
export const NODE_URL_SETTING = {
  ...namesOf("rpc-url"),
  placeholder: "URL",
  parse: url("http:", "https:"),
} as const;

/** The setting of a command that may learn the chain's id from a node, but for its sentence. */
export const CHAIN_ID_SETTING = {
  ...namesOf("chain-id"),
  placeholder: "ID",
  defaultText: "that of the node",
  parse: (text: string) => BigInt(wholeNumber(1)(text)),
} as const;

/** A transaction's receipt, as far as commands use it. Numbers are hex quantities. */
export interface Receipt {
  readonly transactionHash: Hex;
  readonly from: Hex;
  readonly status: Hex;
  readonly blockNumber: Hex;
  readonly transactionIndex: Hex;
  readonly gasUsed: Hex;
  readonly effectiveGasPrice: Hex;
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[] }[];
}

/** The node answered with an error. `revert` has the revert data of a call that reverted. */
export class JsonRpcError extends CommandFailedError {
  override readonly name = "JsonRpcError";
  readonly revert: Hex | undefined;

  constructor(message: string, revert: Hex | undefined) {
    super(`the node returned an error: ${message}`);
    this.revert = revert;
  }
}

/**
 * A chain's node over JSON-RPC. All methods throw {@link JsonRpcError} for an error of the node, and
 * {@link CommandFailedError} for a node that cannot be reached, or for a server that is not a JSON-RPC node.
 */
export class JsonRpcClient {
  #urls: readonly string[];
  readonly #signal: AbortSignal;

  /** @param urls several are nodes of one chain: one that does not answer gives way to the next. */
  constructor(urls: string | readonly string[], signal: AbortSignal) {
    this.#urls = [urls].flat();
    this.#signal = signal;
  }

  /** Runs a call on the latest state. @returns its result as hex. */
  async call(to: Uint8Array, data: Uint8Array): Promise<Hex> {
    return this.request<Hex>("eth_call", [{ to: bytesToHex(to), data: bytesToHex(data) }, "latest"]);
  }

  /** Null while the transaction is in no block. */
  receipt(hash: Hex): Promise<Receipt | null> {
    return this.request<Receipt | null>("eth_getTransactionReceipt", [hash]);
  }

  /** Waits until the transaction is in a block. @throws {@link CommandFailedError} after two minutes. */
  async inclusion(hash: Hex): Promise<Receipt> {
    const until = performance.now() + INCLUDED_WITHIN_MS;
    while (performance.now() < until) {
      const receipt = await this.receipt(hash);
      if (receipt !== null) return receipt;
      await sleep(POLL_MS, undefined, { signal: this.#signal });
    }
    throw new CommandFailedError(
      `transaction ${hash} is sent, but no block has had it for ${INCLUDED_WITHIN_MS / 1000} s; it may still come`,
    );
  }

  /** Calls a method that answers with a hex quantity. */
  async quantity(method: string, params: readonly unknown[] = []): Promise<bigint> {
    const result = await this.request<unknown>(method, params);
    if (typeof result === "string" && /^0x[0-9a-fA-F]+$/.test(result)) return BigInt(result);
    throw new CommandFailedError(
      `the node at ${hostOf(this.#urls[0] ?? "")} answers ${method} with no number`,
    );
  }

  async request<Result>(method: string, params: readonly unknown[]): Promise<Result> {
    const response = await this.#post({ jsonrpc: "2.0", id: 1, method, params });
    if (response.error !== undefined)
      throw new JsonRpcError(response.error.message, revertDataIn(response.error.data));
    return response.result as Result;
  }

  async #post(body: object): Promise<JsonRpcResponse> {
    const [url = "", ...others] = this.#urls;
    try {
      return await this.#postTo(url, body);
    } catch (error) {
      if (others.length === 0 || this.#signal.aborted) throw error;
      this.#urls = others;
      return await this.#post(body);
    }
  }

  async #postTo(url: string, body: object): Promise<JsonRpcResponse> {
    // AbortSignal.any with AbortSignal.timeout is not an option: Node holds those weakly, and may collect the timer.
    const timeout = new AbortController();
    const abort = () => timeout.abort();
    const timer = setTimeout(abort, TIMEOUT_MS);
    this.#signal.addEventListener("abort", abort);
    try {
      return await fetchFrom(url, body, timeout.signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof CommandFailedError) throw error;
      throw unreachable(`the node at ${hostOf(url)}`, error);
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener("abort", abort);
    }
  }
}

async function fetchFrom(url: string, body: object, signal: AbortSignal): Promise<JsonRpcResponse> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
  const parsed = parseJson(await response.text());
  if (isJsonRpcResponse(parsed)) return parsed;
  throw new CommandFailedError(
    `the server at ${hostOf(url)} is not a JSON-RPC node (status ${response.status})`,
  );
}

/** The URL without user, password, path and query, which may hold a secret. */
const hostOf = (url: string): string => new URL(url).host;

const TIMEOUT_MS = 30_000;
const INCLUDED_WITHIN_MS = 120_000;
const POLL_MS = 200;

interface JsonRpcResponse {
  readonly result?: unknown;
  readonly error?: { readonly message: string; readonly data?: unknown };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isJsonRpcResponse(value: unknown): value is JsonRpcResponse {
  if (typeof value !== "object" || value === null) return false;
  if ("result" in value) return true;
  if (!("error" in value) || typeof value.error !== "object" || value.error === null) return false;
  return "message" in value.error && typeof value.error.message === "string";
}
