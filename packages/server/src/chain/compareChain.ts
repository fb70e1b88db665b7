import { bytesEqual } from "@gas-waiver/protocol";
import {
  type ChainIdentity,
  findFinalBlocks,
  isSameChain,
  type KnownChain,
  UNKNOWN_GENESIS,
} from "../store/chains.js";
import type { Store } from "../store/store.js";
import type { NodeClient } from "./client/nodeClient.js";

/** Blocks are compared from this depth below the head on: above it, nodes may differ for a while. */
const MIN_DEPTH = 64n;

/** The difference between a node's chain and the one that the store knows. */
export interface ChainDifference {
  readonly identity: ChainIdentity;
  /** The height of a final block of the store in whose place the node has another; undefined if the identities differ. */
  readonly block: bigint | undefined;
}

type Client = Pick<NodeClient, "identity" | "blockNumber" | "blockHashes">;

/**
 * Compares a node's chain with the one that the store knows, by the id and the first block. Where a first block is pruned,
 * another chain with the same id would pass, so final blocks of the store are compared as well.
 * @returns undefined if nothing shows a difference.
 * @throws the errors of the node client and of the store.
 */
export async function findChainDifference(
  client: Client,
  known: KnownChain,
  store: Store,
): Promise<ChainDifference | undefined> {
  const identity = await client.identity();
  if (!isSameChain(identity, known.identity)) return { identity, block: undefined };
  if (hasFirstBlock(identity) && hasFirstBlock(known.identity)) return undefined;
  const block = await findOtherBlock(client, known, store);
  return block === undefined ? undefined : { identity, block };
}

/**
 * A node that has any of the store's final blocks is on its chain: one that was restored has the older ones, and its lanes stop
 * for the newer ones.
 */
async function findOtherBlock(
  client: Client,
  { chainRef }: KnownChain,
  store: Store,
): Promise<bigint | undefined> {
  const deep = (await client.blockNumber()) - MIN_DEPTH;
  const finals = (await findFinalBlocks(store, chainRef)).filter(({ number }) => number <= deep);
  if (finals.length === 0) return undefined;
  const found = await client.blockHashes(finals.map(({ number }) => number));
  const compared = finals.flatMap(({ number, hash }, i) => {
    const other = found[i];
    return other === undefined || other === "unclear" ? [] : [{ number, isSame: bytesEqual(other, hash) }];
  });
  return compared.some(({ isSame }) => isSame) ? undefined : compared[0]?.number;
}

function hasFirstBlock({ genesisHash }: ChainIdentity): boolean {
  return !bytesEqual(genesisHash, UNKNOWN_GENESIS);
}
