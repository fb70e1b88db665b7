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
 * shown` where the node lacks the block, or has a different block at that height.
 */
export type CarriedBy = "own" | Carrier | "unknown" | "not shown";

/**
 * Finds the wrappers that carried InnerTxs. Where a submission has had several, an earlier one may land, and its record must
 * not name the last. The block that ran the InnerTx decides: its wrapper stands directly before it (D8). Where nothing
 * speaks for another wrapper, no block is read.
 * @param mayLackWrappers the store may have lost wrappers in a failover: any InnerTx may have been carried by another one.
 * @returns in the order of `executed`.
 */
export async function findCarriers(
  executed: readonly Executed[],
  chain: Pick<NodeClient, "blocks">,
  mayLackWrappers: boolean,
): Promise<CarriedBy[]> {
  const isDoubtful = ({ candidate, foreign }: Executed) =>
    foreign || candidate.signings > 1 || mayLackWrappers;
  const heights = [...new Set(executed.filter(isDoubtful).map(({ receipt }) => receipt.blockNumber))];
  const blocks = heights.length === 0 ? [] : await chain.blocks(heights).catch(() => []);
  const blockAt = new Map(heights.map((height, i) => [height, blocks[i]]));
  return executed.map((one) => {
    if (!isDoubtful(one)) return "own";
    return carrierIn(blockAt.get(one.receipt.blockNumber), one);
  });
}

function carrierIn(
  block: BlockWithTransactions | undefined,
  { candidate: { innerHash, wrapperHash }, receipt }: Executed,
): CarriedBy {
  if (block === undefined || !bytesEqual(block.hash, receipt.blockHash)) return "not shown";
  const { transactions } = block;
  const place = transactions.findIndex(({ hash }) => bytesEqual(hash, innerHash));
  if (place < 0) return "unknown";
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
