import type { Hex } from "@gas-waiver/protocol";
import { ancestorAt, type Block, type BlockTransaction, blockOf, nonceIn } from "./block.js";
import { callRegistry, registryLogs } from "./registry.js";
import { hashOfText } from "./wrapper.js";

/** The error of a call, as a node words it. */
export interface CallError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export class CallFailure extends Error {
  readonly error: CallError;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.error = { code, message, ...(data !== undefined && { data }) };
  }
}

/** The chain as one node has it at one moment. */
export interface NodeView {
  readonly head: Block;
  /** States of blocks below this height are gone. */
  readonly statesFrom: number;
  /** The bodies of blocks below this height are gone. */
  readonly blocksFrom: number;
  readonly chainId: number;
  hasInPool(hash: Hex): boolean;
}

const SERVER_ERROR = -32_000;
const NO_METHOD = -32_601;
const NEWEST: ReadonlySet<unknown> = new Set(["latest", "pending", "safe", "finalized", undefined, null]);

/** Answers a call that reads. @throws {@link CallFailure} */
export function readChain(view: NodeView, method: string, params: readonly unknown[]): unknown {
  const [first, second] = params;
  switch (method) {
    case "eth_chainId":
      return quantity(view.chainId);
    case "net_version":
      return String(view.chainId);
    case "web3_clientVersion":
      return "simulated/1";
    case "eth_syncing":
      return false;
    case "eth_blockNumber":
      return quantity(view.head.number);
    case "eth_getBlockByNumber":
      return showBlock(view, first, second === true);
    case "eth_getTransactionCount":
      return quantity(nonceIn(stateAt(view, second), lower(first)));
    case "eth_getBalance":
      return quantity(0);
    case "eth_getCode":
      return "0x";
    case "eth_call":
      return callRegistry(stateAt(view, second), first as object);
    case "eth_getLogs": {
      const { fromBlock, toBlock } = first as Record<"fromBlock" | "toBlock", unknown>;
      return registryLogs(view.head, heightOf(view, fromBlock), heightOf(view, toBlock));
    }
    case "eth_estimateGas":
      return quantity(100_000);
    case "eth_getTransactionReceipt":
      return showReceipt(view, lower(first));
    case "eth_getTransactionByHash":
      return showTransaction(view, lower(first));
    default:
      throw new CallFailure(NO_METHOD, `the method ${method} does not exist/is not available`);
  }
}

const lower = (value: unknown) => String(value).toLowerCase() as Hex;

function heightOf(view: NodeView, tag: unknown): number {
  if (NEWEST.has(tag)) return view.head.number;
  return tag === "earliest" ? 0 : Number(tag);
}

function stateAt(view: NodeView, tag: unknown): Block {
  const height = heightOf(view, tag);
  const block = ancestorAt(view.head, height);
  if (block === undefined) throw new CallFailure(SERVER_ERROR, "header not found");
  if (height < view.statesFrom)
    throw new CallFailure(
      SERVER_ERROR,
      `missing trie node ${block.hash.slice(2)} (path ) state is not available`,
    );
  return block;
}

function showBlock(view: NodeView, tag: unknown, isFull: boolean): object | null {
  const height = heightOf(view, tag);
  const block = ancestorAt(view.head, height);
  if (block === undefined) return null;
  if (height < view.blocksFrom) throw new CallFailure(4_444, "pruned history unavailable");
  return {
    number: quantity(block.number),
    hash: block.hash,
    parentHash: block.parent?.hash ?? hashOfText("nothing"),
    timestamp: quantity(block.timestamp),
    gasLimit: quantity(30_000_000),
    gasUsed: quantity(50_000 * block.transactions.length),
    baseFeePerGas: quantity(0),
    transactions: isFull
      ? block.transactions.map((one) => place(one, block))
      : block.transactions.map(({ hash }) => hash),
  };
}

function place(transaction: BlockTransaction, block: Block): object {
  const transactionIndex = quantity(block.transactions.indexOf(transaction));
  return {
    ...transaction,
    nonce: quantity(transaction.nonce),
    ...{ type: "0x0", value: "0x0", gas: quantity(200_000), gasPrice: "0x0" },
    ...{ blockNumber: quantity(block.number), blockHash: block.hash, transactionIndex },
  };
}

function showTransaction(view: NodeView, hash: Hex): object | null {
  const block = blockOf(view.head, hash);
  const transaction = block?.transactions.find((one) => one.hash === hash);
  if (block !== undefined && transaction !== undefined) return place(transaction, block);
  return view.hasInPool(hash) ? { hash, blockNumber: null, blockHash: null } : null;
}

function showReceipt(view: NodeView, hash: Hex): object | null {
  const block = blockOf(view.head, hash);
  if (block === undefined) return null;
  const gasUsed = quantity(50_000);
  return {
    transactionHash: hash,
    blockNumber: quantity(block.number),
    blockHash: block.hash,
    ...{ gasUsed, cumulativeGasUsed: gasUsed, effectiveGasPrice: "0x0", status: "0x1", logs: [] },
  };
}

export function quantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`;
}
