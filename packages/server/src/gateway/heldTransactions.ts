import {
  bytesToBigInt,
  bytesToHex,
  type Hex,
  hashTransaction,
  parseInnerTx,
  type SignedTransaction,
} from "@gas-waiver/protocol";
import { toQuantity } from "../chain/client/calls.js";
import type { Caller } from "../model/keys/caller.js";
import type { StoreTurns } from "../results/records.js";
import type { SubmissionsByHash } from "../results/submissionsByHash.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import type { Store } from "../store/store.js";
import { findHeldNonces, HELD_NONCES_PER_PAGE, type HeldTransaction } from "../store/submissions/findHeld.js";
import { GatewayRefusal, RPC_CODES } from "./jsonRpc.js";
import type { NodeReader } from "./nodeReader.js";
import { bytesAt, quantityOf } from "./params.js";

export interface HeldTransactionDependencies {
  readonly node: Pick<NodeReader, "read">;
  /** The store, over the connections for reading. */
  readonly store: Store;
  readonly chainRef: number;
  readonly storeTurns: StoreTurns;
  readonly byHash: Pick<SubmissionsByHash, "held">;
}

/**
 * Answers about the transactions that the service has accepted, and which no block has executed. The node knows nothing of
 * those: it holds their wrappers.
 */
export function createHeldTransactions(dependencies: HeldTransactionDependencies) {
  const { node, store, chainRef, storeTurns, byHash } = dependencies;
  const heldNonces = (caller: Caller, sender: Uint8Array, from: bigint) =>
    storeTurns.readOn(caller, () => mapStoreErrors(() => findHeldNonces(store, chainRef, { sender, from })));
  return {
    /** `eth_getTransactionCount`: of the pending state, it counts what the service holds for the sender. */
    async transactionCount(params: readonly unknown[], caller: Caller): Promise<unknown> {
      const call = { method: "eth_getTransactionCount", params };
      if (params[1] !== "pending") return await node.read(call, caller);
      const sender = bytesAt(params, 0, 20, "the address");
      let from = 0n;
      for (;;) {
        // The store first: what moves from it to the chain in between is then counted by the node.
        const held = await firstRunFrom(from, (lowest) => heldNonces(caller, sender, lowest));
        const answer = await node.read(call, caller, { fresh: true });
        const count = quantityOf(answer, "the node's count") ?? 0n;
        if (held === undefined || count < held.first) return toQuantity(count);
        if (count <= held.end) return toQuantity(held.end);
        // The run is behind the chain, and another one may be ahead of it.
        from = count;
      }
    },
    /**
     * `eth_getTransactionByHash`: until the node has its block, from the signed bytes that the service holds, also while no
     * node answers.
     */
    async transactionByHash(params: readonly unknown[], caller: Caller): Promise<unknown> {
      const hash = bytesAt(params, 0, 32, "the hash");
      const call = { method: "eth_getTransactionByHash", params };
      const [asked] = await Promise.allSettled([node.read(call, caller)]);
      if (asked.status === "fulfilled" && asked.value !== null) return asked.value;
      if (asked.status === "rejected" && !isNoAnswer(asked.reason)) throw asked.reason;
      const held = await mapStoreErrors(() => byHash.held(hash));
      if (held && !held.isIncluded) return pendingTransaction(held);
      if (asked.status === "rejected") throw asked.reason;
      // It may have come into a block between the two questions. Another node may have shown that block to the service.
      const inBlock = await node.read(call, caller);
      return inBlock === null && held ? pendingTransaction(held) : inBlock;
    },
  };
}

/** True if no node has answered, rather than refused the call. */
function isNoAnswer(error: unknown): boolean {
  return error instanceof GatewayRefusal && error.code === RPC_CODES.internalError;
}

/** Nonces without a gap between them. */
interface NonceRun {
  readonly first: bigint;
  /** The nonce after the last. */
  readonly end: bigint;
}

/** Finds the first nonces from `from` on that are held without a gap, page by page; undefined if none is held. */
async function firstRunFrom(
  from: bigint,
  readPage: (from: bigint) => Promise<readonly bigint[]>,
): Promise<NonceRun | undefined> {
  let run: NonceRun | undefined;
  for (;;) {
    const page = await readPage(run?.end ?? from);
    for (const nonce of page) {
      if (run !== undefined && nonce !== run.end) return run;
      run = { first: run?.first ?? nonce, end: nonce + 1n };
    }
    if (page.length < HELD_NONCES_PER_PAGE) return run;
  }
}

/** Writes a transaction as nodes write one that is in no block. */
function pendingTransaction({ innerRaw, sender }: HeldTransaction): Record<string, unknown> {
  const tx = parseInnerTx(bytesToHex(innerRaw));
  return {
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
    hash: bytesToHex(hashTransaction(tx)),
    from: bytesToHex(sender),
    to: tx.to ? bytesToHex(tx.to) : null,
    nonce: toQuantity(tx.nonce),
    gas: toQuantity(tx.gasLimit),
    value: toQuantity(tx.value),
    input: bytesToHex(tx.data),
    chainId: toQuantity(tx.chainId),
    ...priceFields(tx),
    ...signatureFields(tx),
  };
}

function priceFields(tx: SignedTransaction): Record<string, unknown> {
  if (tx.type === "legacy") return { type: "0x0", gasPrice: toQuantity(tx.gasPrice) };
  const accessList = tx.accessList.map(({ address, storageKeys }) => ({
    address: bytesToHex(address),
    storageKeys: storageKeys.map(bytesToHex),
  }));
  if (tx.type === "eip2930") return { type: "0x1", gasPrice: toQuantity(tx.gasPrice), accessList };
  const maxFeePerGas = toQuantity(tx.maxFeePerGas);
  const maxPriorityFeePerGas = toQuantity(tx.maxPriorityFeePerGas);
  return { type: "0x2", gasPrice: maxFeePerGas, maxFeePerGas, maxPriorityFeePerGas, accessList };
}

function signatureFields({ type, signature, chainId }: SignedTransaction): Record<string, Hex> {
  const { compact, yParity } = signature;
  const parity = BigInt(yParity);
  const [r, s] = [compact.subarray(0, 32), compact.subarray(32)].map(bytesToBigInt) as [bigint, bigint];
  const v = type === "legacy" && chainId !== undefined ? 35n + 2n * chainId + parity : parity;
  const fields = { v: toQuantity(v), r: toQuantity(r), s: toQuantity(s) };
  return type === "legacy" ? fields : { ...fields, yParity: toQuantity(parity) };
}
