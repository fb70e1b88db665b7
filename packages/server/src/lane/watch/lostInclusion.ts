import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { NodeClient } from "../../chain/client/nodeClient.js";
import { findLastFinalInclusions } from "../../store/lanes/blocks/finalInclusions.js";
import { findNewestInclusions, type RecordedInclusion } from "../../store/lanes/blocks/newestInclusions.js";
import type { Store } from "../../store/store.js";

/** An inclusion that the store has and the node does not show. */
export interface LostInclusion {
  readonly blockNumber: bigint;
  /** The waiver's nonce in that block; undefined if the lane has given it up. */
  readonly waiverNonce: bigint | undefined;
  /**
   * - `another block`: the node has another block at that height.
   * - `no block`: the node has none there: the chain was taken back, or the node is behind.
   * - `unused nonce`: the waiver's next nonce is not above the one of that block.
   */
  readonly found: "another block" | "no block" | "unused nonce";
}

interface Dependencies {
  readonly store: Store;
  readonly chain: Pick<NodeClient, "blockHashes">;
  /** The chain's number in the store. */
  readonly chainRef: number;
}

/** A waiver, and its next nonce by the node. */
interface WaiverNonce {
  readonly waiver: Uint8Array;
  readonly next: bigint;
}

/**
 * Compares what the store has in blocks with the node's blocks and nonces: for each waiver the newest inclusion, and the
 * one with the highest nonce. Each block refers to its parent, so a node with these blocks has the earlier ones too.
 * @returns for each waiver an inclusion that the node does not show; undefined if there is none.
 */
export async function findLostInclusions(
  waivers: readonly WaiverNonce[],
  { store, chain, chainRef }: Dependencies,
): Promise<(LostInclusion | undefined)[]> {
  const addresses = waivers.map(({ waiver }) => waiver);
  const last = await findLastFinalInclusions(store, chainRef, addresses);
  const newest = await findNewestInclusions(store, chainRef);
  const recordedOf = (i: number, waiver: Uint8Array) =>
    [newest.get(bytesToHex(waiver)), last[i]].filter((one) => one !== undefined);
  const all = addresses.flatMap((waiver, i) => recordedOf(i, waiver));
  const heights = [...new Set(all.map(({ blockNumber }) => blockNumber))];
  const hashes = await chain.blockHashes(heights);
  const hashAt = (height: bigint) => hashes[heights.indexOf(height)];
  return waivers.map(({ waiver, next }, i) =>
    recordedOf(i, waiver)
      .map((recorded) => lostBy(recorded, next, hashAt(recorded.blockNumber)))
      .find((lost) => lost !== undefined),
  );
}

function lostBy(
  { blockNumber, blockHash, waiverNonce }: RecordedInclusion,
  next: bigint,
  hash: Uint8Array | undefined | "unclear",
): LostInclusion | undefined {
  const lost = (found: LostInclusion["found"]) => ({ blockNumber, waiverNonce, found });
  if (hash === undefined) return lost("no block");
  if (hash !== "unclear" && !bytesEqual(hash, blockHash)) return lost("another block");
  return waiverNonce !== undefined && waiverNonce >= next ? lost("unused nonce") : undefined;
}
