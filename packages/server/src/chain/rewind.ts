import type { ChangedSubmission } from "../store/lanes/heldLane.js";
import { findAccounts, hasLostNonces, rewind } from "../store/rewind.js";
import type { Store } from "../store/store.js";
import { chunk } from "../util/chunk.js";
import type { NodeClient } from "./client/nodeClient.js";
import { MAX_BATCH_CALLS, RpcUnavailableError } from "./rpc/rpc.js";

/*
 * A developer takes a devnet back on purpose: to a snapshot, or to an older copy of its folder. There the chain's nonces say what
 * became of everything. On any other chain a low nonce proves nothing, so only a service that may adopt a new chain does this.
 */

export interface RewindOptions {
  readonly store: Store;
  readonly chain: Pick<NodeClient, "nonces">;
  /** The chain's number in the store. */
  readonly chainRef: number;
  /** Changes nothing if the chain has all nonces that the store has in blocks. */
  readonly onlyIfLost: boolean;
}

/**
 * Brings the store to a chain that was taken back.
 * @returns the submissions that this ended before their end.
 */
export async function rewindToChain(options: RewindOptions): Promise<ChangedSubmission[]> {
  const { store, chain, chainRef, onlyIfLost } = options;
  const accounts = await findAccounts(store, chainRef);
  const next: bigint[] = [];
  for (const some of chunk(accounts, MAX_BATCH_CALLS)) next.push(...(await chain.nonces(some)).map(told));
  const nonces = accounts.map((account, i) => ({ account, next: next[i] ?? 0n }));
  if (onlyIfLost && !(await hasLostNonces(store, chainRef, nonces))) return [];
  return await rewind(store, chainRef, nonces);
}

/** @throws if the node has not told this nonce: the store would lose what the chain has. */
function told(nonce: bigint | undefined): bigint {
  if (nonce === undefined) throw new RpcUnavailableError("the node does not tell all nonces", "unknown");
  return nonce;
}
