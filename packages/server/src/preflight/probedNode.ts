import { hash32, quantity } from "../chain/client/nodeAnswers.js";
import { NodeClient } from "../chain/client/nodeClient.js";
import { nodeName } from "../chain/heads/watchEndpoints.js";
import { createPoster, type Poster } from "../chain/rpc/httpPoster.js";
import { createRpc, isObject, type Rpc, type RpcOutcome, resultIn } from "../chain/rpc/rpc.js";

/** A node that is being checked, alone. */
export interface ProbedNode {
  /** Its place and origin: a URL may hold a secret in its path or query. */
  readonly name: string;
  readonly rpc: Rpc;
  readonly client: NodeClient;
  readonly poster: Poster;
}

export function createProbedNode(
  url: string,
  place: number,
  options: { readonly rpcTimeoutMs: number; readonly signal: AbortSignal },
): ProbedNode {
  const rpc = createRpc({ ...options, rpcUrls: [url] });
  const name = nodeName(url, place);
  return { name, rpc, client: new NodeClient(rpc), poster: createPoster(url, options) };
}

/** A block, as far as the checks read it. */
export interface ProbedBlock {
  readonly number: bigint;
  readonly hash: Uint8Array;
  /** In seconds; undefined where a node leaves it out. */
  readonly timestamp: number | undefined;
  /** The hashes of its transactions. */
  readonly transactions: readonly string[];
}

/** Reads the answer to a call for a block; undefined for an error, no block, or something else. */
export function blockIn(outcome: RpcOutcome | undefined): ProbedBlock | undefined {
  const value = resultIn(outcome);
  if (!isObject(value)) return undefined;
  const transactions = Array.isArray(value.transactions) ? value.transactions : [];
  return unlessMalformed(() => ({
    number: quantity(value.number),
    hash: hash32(value.hash),
    timestamp: value.timestamp === undefined ? undefined : Number(quantity(value.timestamp)),
    transactions: transactions.filter((hash): hash is string => typeof hash === "string"),
  }));
}

/** Reads a quantity; undefined for anything else. */
export function quantityIn(value: unknown): bigint | undefined {
  return unlessMalformed(() => quantity(value));
}

function unlessMalformed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
