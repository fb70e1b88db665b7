import type { NonceUse } from "../chain/nonceProof.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { findUnknownNonces } from "../store/lanes/lostWrappers.js";
import { findUnfinishedByIds } from "../store/lanes/unfinished.js";
import { adoptIfLost } from "./adoptLost.js";
import type { WatchContext } from "./context.js";
import { reconcile } from "./reconcile.js";

/** Searches the chain for lost wrappers under nonces that the store does not know as used. */
export interface LostWrapperSearch {
  /** Searches now and then for an hour after the store has moved to another server; otherwise does nothing. */
  search(held: HeldLane): Promise<void>;
}

const SEARCH_INTERVAL_MS = 5_000;

export function createLostWrapperSearch(context: WatchContext): LostWrapperSearch {
  const { store, chain, nonceProofs } = context;
  const examined = new Set<bigint>();
  let searchAt = Number.NEGATIVE_INFINITY;
  return {
    async search(held) {
      if (performance.now() < searchAt) return;
      searchAt = performance.now() + SEARCH_INTERVAL_MS;
      if (!(await store.moves.hasMoved(SEARCH_INTERVAL_MS))) return;
      const [chainNonce = 0n] = await chain.nonces([held.waiver]);
      const found: NonceUse[] = [];
      for (const nonce of await findUnknownNonces(store, held, chainNonce, [...examined])) {
        const use = await nonceProofs.find({ account: held.waiver, nonce });
        if (use) found.push(use);
      }
      const { ids } = await adoptIfLost(held, found, context);
      for (const { nonce } of found) examined.add(nonce);
      await reconcile(held, await findUnfinishedByIds(store, held, ids), context);
    },
  };
}
