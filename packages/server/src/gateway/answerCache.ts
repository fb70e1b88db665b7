import { LRUCache } from "lru-cache";
import { MAX_LAG_BLOCKS } from "../chain/rpc/endpointHeads.js";
import type { RpcCall } from "../chain/rpc/rpc.js";
import { isObject } from "../chain/rpc/rpc.js";
import { EncodedJson } from "./jsonRpc.js";
import { heightIn } from "./logRange.js";

/** Remembers answers that cannot change. */
export type AnswerCache = ReturnType<typeof createAnswerCache>;

export interface AnswerCacheOptions {
  /** Returns the height of the chain, as far as the service knows it. */
  height(): bigint | undefined;
  /** The depth of the deepest reorg that the chain can have, in blocks. */
  readonly reorgDepth: number;
  /** The most characters of the answers and their keys. */
  readonly maxCharacters?: number;
}

const MAX_CHARACTERS = 33_554_432;
/** A larger answer is not worth the place of many small ones. A block of 2,000 transactions has 3,000,000 characters. */
const LARGEST_SHARE = 1 / 4;

/** Forgets the answers that were not asked for longest. */
export function createAnswerCache({
  height,
  reorgDepth,
  maxCharacters = MAX_CHARACTERS,
}: AnswerCacheOptions) {
  const answers = new LRUCache<string, EncodedJson>({
    maxSize: maxCharacters,
    maxEntrySize: maxCharacters * LARGEST_SHARE,
    sizeCalculation: ({ text }, key) => key.length + text.length,
  });
  return {
    /** @returns undefined if the answer is not known. */
    get: (key: string) => answers.get(key),
    /**
     * Remembers the answer if it cannot change any more.
     * @returns the answer as JSON if it was encoded, else as it is.
     */
    add(key: string, call: RpcCall, result: unknown) {
      const latest = height();
      const final = latest === undefined ? -1n : latest - BigInt(reorgDepth);
      if (!isLasting(call, result, final)) return result;
      const encoded = new EncodedJson(result);
      answers.set(key, encoded);
      return encoded;
    },
    /** Forgets all answers. */
    clear: () => answers.clear(),
  };
}

/** Methods that name a block by its hash, whose content can never change. */
const BY_BLOCK_HASH: ReadonlySet<string> = new Set([
  "eth_getBlockByHash",
  "eth_getBlockTransactionCountByHash",
  "eth_getTransactionByBlockHashAndIndex",
]);
/** Methods whose answer names the block that it is from. */
const IN_BLOCK: ReadonlySet<string> = new Set(["eth_getTransactionByHash", "eth_getTransactionReceipt"]);
/** Methods that name a block by its height, with the place of that parameter. */
const BY_HEIGHT: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_getBlockReceipts: 0,
  eth_getBlockTransactionCountByNumber: 0,
  eth_getTransactionByBlockNumberAndIndex: 0,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_call: 1,
  eth_getStorageAt: 2,
};

/** @param final the height up to which blocks are final. */
function isLasting({ method, params }: RpcCall, result: unknown, final: bigint): boolean {
  if (result === null || result === undefined) return false;
  if (BY_BLOCK_HASH.has(method)) return true;
  if (IN_BLOCK.has(method)) return isFinal(heightIn(result, "blockNumber"), final);
  const place = BY_HEIGHT[method];
  if (place !== undefined) return isFinal(heightIn({ number: params[place] }, "number"), final);
  if (method !== "eth_getLogs" || !isObject(params[0])) return false;
  const { blockHash, fromBlock, toBlock } = params[0];
  // A node that is some blocks behind answers a search with the logs that it has, and no error.
  if (typeof blockHash === "string") return true;
  return [fromBlock, toBlock].every((number) =>
    isFinal(heightIn({ number }, "number"), final - MAX_LAG_BLOCKS),
  );
}

function isFinal(height: bigint | undefined, final: bigint): boolean {
  return height !== undefined && height <= final;
}
