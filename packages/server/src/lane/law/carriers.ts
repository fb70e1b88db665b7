import { bytesEqual, decodeInnerTx, hashTransaction, isWrapper, ProtocolError } from "@gas-waiver/protocol";
import type {
  BlockTransaction,
  BlockWithTransactions,
  InclusionReceipt,
  NodeClient,
} from "../../chain/client/nodeClient.js";
import type { Carrier } from "../../model/submission/submission.js";
import type { Candidate } from "./chainOutcomes.js";

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
