import { bytesEqual, decodeInnerTx, hashTransaction, isWrapper, ProtocolError } from "@gas-waiver/protocol";
import {
  type BlockTransaction,
  type BlockWithTransactions,
  type InclusionReceipt,
  MAX_SNAPSHOT_ITEMS,
  type NodeClient,
  type ReceiptAnswer,
} from "../../chain/client/nodeClient.js";
import type { Carrier } from "../../model/submission/submission.js";
import type { UnfinishedSubmission } from "../../store/lanes/queue/unfinished.js";
import { chunk } from "../../util/chunk.js";

/** A submission that is compared with the chain. */
export type Candidate = Omit<UnfinishedSubmission, "state">;

/**
 * A node's verdict on a candidate, at one moment. Only `included` decides; `nonceUsed` and `replaced` rest on nonces, and
 * are reasons to look for the proof in a block (D28):
 *
 * - `included`: the InnerTx is in a block. `foreign` unless the nonces show that the stored wrapper may have carried it.
 * - `nonceUsed`: the sender's next nonce, `next`, is above the candidate's, and the node shows no receipt of the InnerTx.
 * - `replaced`: the waiver's next nonce is above the candidate's, and the node shows no receipt of the InnerTx.
 * - `open`: none of these yet, or the node cannot tell whether there is a receipt of what was never signed: no block has to prove what
 *   became of that.
 */
export type ChainOutcome =
  | { readonly kind: "included"; readonly receipt: InclusionReceipt; readonly foreign: boolean }
  | { readonly kind: "nonceUsed"; readonly next: bigint }
  | { readonly kind: "replaced" }
  | { readonly kind: "open" };

/** Batch size at one RPC call per candidate, plus one for the waiver's nonce. */
export const RECEIPT_BATCH = MAX_SNAPSHOT_ITEMS - 1;
/** The candidates that are reconciled at a time. Two requests to the node suffice where all have a receipt. */
export const CANDIDATES_PER_BATCH = 2 * RECEIPT_BATCH;
/** Batch size at two RPC calls per candidate. */
const RECEIPT_AND_NONCE_BATCH = Math.floor(RECEIPT_BATCH / 2);

/**
 * Reads the outcomes of the candidates, in their order. Most candidates have a receipt, which decides alone. For the
 * others, one node is asked for receipts and nonces at one moment.
 */
export async function chainOutcomes(
  waiver: Uint8Array,
  candidates: readonly Candidate[],
  { chain }: { readonly chain: Pick<NodeClient, "snapshot"> },
): Promise<ChainOutcome[]> {
  const outcomes = new Map<Candidate, ChainOutcome>();
  const ask = async (part: readonly Candidate[], senders: readonly Uint8Array[]) => {
    const hashes = part.map(({ innerHash }) => innerHash);
    const { nonces, receipts, nonceAfter } = await chain.snapshot([waiver, ...senders], hashes);
    const [waiverNext, ...senderNext] = nonces;
    for (const [i, candidate] of part.entries()) {
      const byReceipt = outcomeBy(receipts[i], candidate, nonceAfter);
      const outcome = byReceipt ?? outcomeByNonces(candidate, waiverNext, senderNext[i]);
      if (byReceipt || senders.length > 0) outcomes.set(candidate, outcome);
    }
  };
  await Promise.all(chunk(candidates, RECEIPT_BATCH).map((part) => ask(part, [])));
  const withoutReceipt = candidates.filter((candidate) => !outcomes.has(candidate));
  for (const part of chunk(withoutReceipt, RECEIPT_AND_NONCE_BATCH)) {
    await ask(
      part,
      part.map(({ sender }) => sender),
    );
  }
  return candidates.map((candidate) => outcomes.get(candidate) ?? { kind: "open" });
}

function outcomeByNonces(
  { senderNonce, waiverNonce }: Candidate,
  waiverNext: bigint | undefined,
  next: bigint | undefined,
): ChainOutcome {
  if (next !== undefined && senderNonce < next) return { kind: "nonceUsed", next };
  return { kind: isUsed(waiverNonce, waiverNext) ? "replaced" : "open" };
}

function outcomeBy(
  receipt: ReceiptAnswer,
  { waiverNonce, signings }: Candidate,
  nonceAfter: bigint | undefined,
): ChainOutcome | undefined {
  if (receipt === "unclear") return signings === 0 ? { kind: "open" } : undefined;
  if (receipt === undefined) return undefined;
  return { kind: "included", receipt, foreign: !isUsed(waiverNonce, nonceAfter) };
}

function isUsed(nonce: bigint | undefined, next: bigint | undefined): boolean {
  return nonce !== undefined && next !== undefined && nonce < next;
}

/** A submission with the receipt of its InnerTx. */
export interface Executed {
  readonly candidate: Candidate;
  readonly receipt: InclusionReceipt;
  /** The nonces do not show that the stored wrapper may have carried the InnerTx. */
  readonly foreign: boolean;
}

/**
 * The wrapper that carried an InnerTx: the stored wrapper, another, or `unknown` where the block does not tell. It is `not
 * shown` where the node lacks the block, and in `another block` where the node has a different one at that height, without the InnerTx.
 */
export type CarriedBy = "own" | Carrier | "unknown" | "not shown" | "another block";

/** The block in which an InnerTx ran, and the wrapper that carried it there. */
export interface Carriage {
  readonly carriedBy: CarriedBy;
  /** By the block itself where it was read: a node may give receipts with the hash of a block that a reorg took away. */
  readonly blockHash: Uint8Array;
}

/** The reasons for which any InnerTx may have another carrier, or another block, than its receipt and the store tell. */
export interface CarrierDoubts {
  /** The store may have lost wrappers in a failover. */
  readonly mayLackWrappers: boolean;
  /** A reorg may take blocks away: their hashes are compared with those in the receipts. */
  readonly mayReorg: boolean;
}

/**
 * Finds the wrappers that carried InnerTxs. Where a submission has had several, an earlier one may land, and its record must
 * not name the last. The block that ran the InnerTx decides: its wrapper stands directly before it (D8). Where nothing
 * speaks for another wrapper or another block, no block is read.
 * @returns in the order of `executed`.
 */
export async function findCarriers(
  executed: readonly Executed[],
  chain: Pick<NodeClient, "blocks" | "blockHashes">,
  { mayLackWrappers, mayReorg }: CarrierDoubts,
): Promise<Carriage[]> {
  const heightsOf = (some: readonly Executed[]) => [
    ...new Set(some.map(({ receipt }) => receipt.blockNumber)),
  ];
  const compared = mayReorg ? heightsOf(executed) : [];
  const hashes = compared.length === 0 ? [] : await chain.blockHashes(compared).catch(() => []);
  const isContradicted = ({ receipt }: Executed) => {
    const hash = hashes[compared.indexOf(receipt.blockNumber)];
    return hash !== undefined && hash !== "unclear" && !bytesEqual(hash, receipt.blockHash);
  };
  const isDoubtful = (one: Executed) =>
    one.foreign || one.candidate.signings > 1 || mayLackWrappers || isContradicted(one);
  const doubtful = executed.filter(isDoubtful);
  const heights = heightsOf(doubtful);
  const blocks = heights.length === 0 ? [] : await chain.blocks(heights).catch(() => []);
  const blockAt = new Map(heights.map((height, i) => [height, blocks[i]]));
  return executed.map((one): Carriage => {
    if (!doubtful.includes(one)) return { carriedBy: "own", blockHash: one.receipt.blockHash };
    const block = blockAt.get(one.receipt.blockNumber);
    const blockHash = block?.hash ?? one.receipt.blockHash;
    return { carriedBy: carrierIn(block, one), blockHash };
  });
}

function carrierIn(
  block: BlockWithTransactions | undefined,
  { candidate: { innerHash, wrapperHash }, receipt }: Executed,
): CarriedBy {
  if (block === undefined) return "not shown";
  const { transactions } = block;
  const place = transactions.findIndex(({ hash }) => bytesEqual(hash, innerHash));
  if (place < 0) return bytesEqual(block.hash, receipt.blockHash) ? "unknown" : "another block";
  if (wrapperHash && transactions.some(({ hash }) => bytesEqual(hash, wrapperHash))) return "own";
  const before = transactions[place - 1];
  if (before === undefined || !carries(before, innerHash)) return "unknown";
  return { waiver: before.from, waiverNonce: before.nonce, wrapperHash: before.hash };
}

function carries({ to, input }: BlockTransaction, innerHash: Uint8Array): boolean {
  if (!isWrapper({ to })) return false;
  try {
    return bytesEqual(hashTransaction(decodeInnerTx(input)), innerHash);
  } catch (error) {
    if (error instanceof ProtocolError) return false;
    throw error;
  }
}
