import { isObject } from "../../packages/server/src/chain/rpc/rpcOutcome.js";
import { type Call, errorReply, type Reply } from "./exchange.js";

/** The chain as one node shows it: up to a block, and with the receipts that it has by now. */
export interface ChainView {
  /** The latest block that it has; undefined for the chain's own head. */
  readonly head?: number;
  /** Seconds by which the timestamps of its blocks are in the past. */
  readonly agedBy?: number;
  /** The latest block whose transactions can be found by their hash; undefined for all. */
  readonly indexed?: number;
}

/** The place of the block among a method's parameters. */
const TAG_PLACES: Readonly<Record<string, number>> = {
  eth_getTransactionCount: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
  eth_call: 1,
  eth_estimateGas: 1,
  eth_getStorageAt: 2,
  eth_getBlockByNumber: 0,
};
const HEAD_TAGS = new Set<unknown>([undefined, null, "latest", "pending", "safe", "finalized"]);
const BY_HASH = new Set(["eth_getTransactionReceipt", "eth_getTransactionByHash"]);

const toHex = (value: number) => `0x${value.toString(16)}`;

/** Returns the call to forward to the chain's node so that its answer fits the view, or the view's own answer. */
export function callForView(view: ChainView, call: Call): Call | Reply {
  const { head } = view;
  if (head === undefined) return call;
  if (call.method === "eth_blockNumber") return { result: toHex(head) };
  if (call.method === "eth_getLogs") return clampLogs(call, head);
  const place = TAG_PLACES[call.method];
  if (place === undefined) return call;
  const tag = call.params[place];
  if (HEAD_TAGS.has(tag)) return { ...call, params: call.params.with(place, toHex(head)) };
  if (typeof tag !== "string" || !(Number(tag) > head)) return call;
  return call.method === "eth_getBlockByNumber" ? { result: null } : errorReply(-32_000, "header not found");
}

function clampLogs(call: Call, head: number): Call {
  const [filter] = call.params;
  if (!isObject(filter) || "blockHash" in filter) return call;
  const { toBlock } = filter;
  const isAbove = HEAD_TAGS.has(toBlock) || Number(toBlock) > head;
  return isAbove ? { ...call, params: [{ ...filter, toBlock: toHex(head) }] } : call;
}

/** Returns the chain's answer as the view shows it. */
export function replyForView(view: ChainView, call: Call, reply: Reply): Reply {
  if (!("result" in reply) || !isObject(reply.result)) return reply;
  const { result } = reply;
  if (BY_HASH.has(call.method)) {
    // A transaction without a block waits in the pool, where no index is needed.
    if (typeof result.blockNumber !== "string") return reply;
    const latest = Math.min(view.indexed ?? Number.POSITIVE_INFINITY, view.head ?? Number.POSITIVE_INFINITY);
    return Number(result.blockNumber) > latest ? { result: null } : reply;
  }
  if (call.method.startsWith("eth_getBlock") && typeof result.timestamp === "string") {
    if (Number(result.number) > (view.head ?? Number.POSITIVE_INFINITY)) return { result: null };
    const timestamp = toHex(Math.max(0, Number(result.timestamp) - (view.agedBy ?? 0)));
    return { result: { ...result, timestamp } };
  }
  return reply;
}
