import type { NodeClient } from "./client/nodeClient.js";
import type { BlockAt } from "./nonceUse.js";

/** The place that a walk has reached for somebody. */
export interface WalkPlace {
  /** The lowest block that the walk has not read. */
  next: bigint;
  /** The walk has passed over blocks that the node does not have. */
  hasGap: boolean;
}

/** Blocks in one request: their transactions come whole. */
const BLOCKS_PER_REQUEST = 10n;

/** Walks over final blocks for many at once: a block that several wait for is read once. */
export function createFinalWalk(chain: Pick<NodeClient, "blocks" | "blockHashes">) {
  let isHighestNext = false;
  return {
    /**
     * Reads some blocks, for the lowest place and for the highest in turns, and advances the places that they continue. Blocks
     * that the node has no more are passed over; a node that is behind is waited for.
     * @param places at least one, none above the last final block.
     * @returns the blocks, or undefined where the node is behind.
     */
    async read(places: readonly WalkPlace[], final: bigint): Promise<readonly BlockAt[] | undefined> {
      isHighestNext = !isHighestNext;
      const start = places.map(({ next }) => next).reduce((a, b) => (a < b === isHighestNext ? b : a));
      const heights = range(start, BLOCKS_PER_REQUEST).filter((height) => height <= final);
      const read: BlockAt[] = [];
      for (const [i, block] of (await chain.blocks(heights)).entries()) {
        if (block === undefined) break;
        read.push({ height: start + BigInt(i), block });
      }
      const hasGap = read.length === 0;
      const reached = hasGap ? await firstShown(chain, start, final) : start + BigInt(read.length);
      if (reached === start) return undefined;
      for (const place of places) {
        if (place.next < start || place.next >= reached) continue;
        place.next = reached;
        place.hasGap ||= hasGap;
      }
      return read;
    },
  };
}

/**
 * Finds the lowest block above `missing` that the node has, in few requests: pruned blocks are the first ones.
 * @returns `missing` where the node does not show the last final block either, because it is behind.
 */
async function firstShown(
  chain: Pick<NodeClient, "blockHashes">,
  missing: bigint,
  final: bigint,
): Promise<bigint> {
  const [last] = await chain.blockHashes([final]);
  if (last === undefined) return missing;
  let low = missing;
  let high = final;
  while (high - low > 1n) {
    const distance = (high - low) / BLOCKS_PER_REQUEST || 1n;
    const probes = range(1n, BLOCKS_PER_REQUEST)
      .map((i) => low + i * distance)
      .filter((height) => height < high);
    const hashes = await chain.blockHashes(probes);
    const shown = hashes.findIndex((hash) => hash !== undefined);
    high = probes[shown] ?? high;
    low = probes.at(shown < 0 ? -1 : shown - 1) ?? low;
  }
  return high;
}

function range(from: bigint, count: bigint): bigint[] {
  return Array.from({ length: Number(count) }, (_, i) => from + BigInt(i));
}
