import {
  bytesToHex,
  callFailureOf,
  classifySendError,
  type Hex,
  type InnerTx,
  type SendVerdictKind,
} from "@gas-waiver/protocol";
import {
  isObject,
  type NodeRpcError,
  nodeErrorIn,
  type RpcCall,
  type RpcOutcome,
  reads,
} from "../rpc/rpcOutcome.js";
import {
  assertHash,
  blockHashOf,
  blockOf,
  bytes,
  count,
  headOf,
  isHash,
  logsOf,
  nonceOf,
  orNull,
  quantity,
  receiptOf,
} from "./nodeAnswers.js";

// The calls that the service makes for itself, each written once, with what tells an answer. Addresses are 20 bytes or 0x hex, hashes 32 bytes.

/** A height, or the name of a block. */
export type BlockTag = bigint | "latest" | "finalized" | "safe";

/** A number as JSON-RPC writes it. */
export function toQuantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}

/** Asks for a block with the hashes of its transactions. */
export const blockCall = (block: BlockTag): RpcCall => ({
  method: "eth_getBlockByNumber",
  params: [parameterOf(block), false],
  isTold: reads(block === "latest" ? placeOf : orNull((answer) => placeOf(answer, heightOf(block)))),
});

/** Asks for a block with its whole transactions. */
export const fullBlockCall = (block: BlockTag): RpcCall => ({
  method: "eth_getBlockByNumber",
  params: [parameterOf(block), true],
  isTold: reads((answer) => blockOf(answer, heightOf(block))),
});

export const blockNumberCall = (): RpcCall => ({
  method: "eth_blockNumber",
  params: [],
  isTold: reads(count),
});

export const chainIdCall = (): RpcCall => ({ method: "eth_chainId", params: [], isTold: reads(quantity) });

/** Asks for the next nonce of an address after a block. */
export const nonceCallAt = (address: Uint8Array | string, block: BlockTag): RpcCall => ({
  method: "eth_getTransactionCount",
  params: [typeof address === "string" ? address : bytesToHex(address), parameterOf(block)],
  isTold: reads(nonceOf),
});

/** Asks for the next nonce of an address after the latest block. */
export const nonceCall = (address: Uint8Array): RpcCall => nonceCallAt(address, "latest");

export const balanceCall = (address: Uint8Array): RpcCall => ({
  method: "eth_getBalance",
  params: [bytesToHex(address), "latest"],
  isTold: reads(quantity),
});

export const transactionCall = (hash: Uint8Array): RpcCall => ({
  method: "eth_getTransactionByHash",
  params: [bytesToHex(hash)],
  isTold: reads(orNull((transaction) => assertHash(transaction, hash))),
});

export const receiptCall = (hash: Uint8Array): RpcCall => ({
  method: "eth_getTransactionReceipt",
  params: [bytesToHex(hash)],
  isTold: reads((answer) => receiptOf(answer, hash)),
});

/** Asks for the logs that a filter lets through. */
export const logsCall = (filter: object): RpcCall => ({
  method: "eth_getLogs",
  params: [filter],
  isTold: reads(logsOf),
});

/** Runs a request on the state of a block. Where it fails, the error of the node that ran it is the answer. */
export const runCall = (request: object, block: BlockTag): RpcCall => ({
  method: "eth_call",
  params: [request, parameterOf(block)],
  isTold: (answer) => isFailedRun(answer) || reads(bytes)(answer),
});

/**
 * Answers whose cause may be the node's own, such as its settings, its plan or its full pool: another node may take the wrapper.
 */
const OF_NODE: ReadonlySet<SendVerdictKind> = new Set(["disputed", "not now", "waiver unusable"]);

/** An error that names a rule of the chain is every node's. */
function mayBeOfNode(error: NodeRpcError): boolean {
  const namesRule = isObject(error.data) && "reason" in error.data;
  return !namesRule && OF_NODE.has(classifySendError(error).kind);
}

/** Sends a wrapper. A result other than the wrapper's hash tells nothing, nor does an error whose cause may be the node's own. */
export const sendCall = ({
  wrapperRaw,
  wrapperHash,
}: Readonly<Record<"wrapperRaw" | "wrapperHash", Uint8Array>>): RpcCall => ({
  method: "eth_sendRawTransaction",
  params: [bytesToHex(wrapperRaw)],
  isTold(answer) {
    const error = nodeErrorIn(answer);
    return error ? !mayBeOfNode(error) : "error" in answer || isHash(answer.result, wrapperHash);
  },
  isDeclined(answer) {
    const error = nodeErrorIn(answer);
    return error !== undefined && classifySendError(error).kind === "waiver unusable";
  },
});

/** The code of geth's answer to a call that reverts. */
const REVERTED = 3;

function isFailedRun(answer: RpcOutcome): boolean {
  const error = nodeErrorIn(answer);
  return error !== undefined && (error.code === REVERTED || callFailureOf(error) !== undefined);
}

/** The members of a block that the service needs, with or without its transactions. */
const placeOf = (block: unknown, height?: bigint) => [headOf(block), blockHashOf(block, height)];

/** Undefined for the name of a block, whose height nobody knows before. */
const heightOf = (block: BlockTag) => (typeof block === "bigint" ? block : undefined);

function parameterOf(block: BlockTag): string {
  return typeof block === "bigint" ? toQuantity(block) : block;
}

/** The parts of a transaction that `eth_call` runs. */
export interface CalledTransaction {
  readonly tx: InnerTx;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** 20 bytes. */
  readonly to: Uint8Array;
}

/** The request of an `eth_call` that runs the transaction, with its gas limit and gas price 0. */
export function callRequest({ tx, sender, to }: CalledTransaction): Readonly<Record<string, unknown>> {
  return {
    from: bytesToHex(sender),
    to: bytesToHex(to),
    value: toQuantity(tx.value),
    data: bytesToHex(tx.data),
    gas: toQuantity(tx.gasLimit),
    gasPrice: "0x0",
    ...(tx.type !== "legacy" && {
      accessList: tx.accessList.map(({ address, storageKeys }) => ({
        address: bytesToHex(address),
        storageKeys: storageKeys.map(bytesToHex),
      })),
    }),
  };
}
