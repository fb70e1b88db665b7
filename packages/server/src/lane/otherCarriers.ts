import { bytesEqual } from "@gas-waiver/protocol";
import type { BlockWithTransactions, InclusionReceipt, NodeClient } from "../chain/nodeClient.js";
import type { Candidate } from "./chainOutcomes.js";

/** A submission with the receipt of its InnerTx. */
export interface Executed {
  readonly candidate: Candidate;
  readonly receipt: InclusionReceipt;
}

/**
 * Finds those that another wrapper carried than the one that is stored, by the blocks that ran them: where a submission has
 * had several wrappers, an earlier one may land, and its record must not name the last. A block that the node does not
 * show tells nothing, and holds up no inclusion.
 * @returns their ids.
 */
export async function findOtherCarriers(
  executed: readonly Executed[],
  chain: Pick<NodeClient, "blocks">,
): Promise<ReadonlySet<string>> {
  const resigned = executed.filter(({ candidate }) => candidate.signings > 1);
  const heights = [...new Set(resigned.map(({ receipt }) => receipt.blockNumber))];
  if (heights.length === 0) return new Set();
  const blocks = await chain.blocks(heights).catch(() => []);
  const blockAt = new Map(heights.map((height, i) => [height, blocks[i]]));
  const carried = resigned.filter((one) => isCarriedByAnother(one, blockAt.get(one.receipt.blockNumber)));
  return new Set(carried.map(({ candidate }) => candidate.id));
}

function isCarriedByAnother(
  { candidate: { innerHash, wrapperHash }, receipt }: Executed,
  block: BlockWithTransactions | undefined,
): boolean {
  if (wrapperHash === undefined || block === undefined) return false;
  const has = (hash: Uint8Array) => block.transactions.some((one) => bytesEqual(one.hash, hash));
  return bytesEqual(block.hash, receipt.blockHash) && has(innerHash) && !has(wrapperHash);
}
