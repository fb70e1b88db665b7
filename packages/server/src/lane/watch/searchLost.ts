import { bytesEqual } from "@gas-waiver/protocol";
import type { NonceUse } from "../../chain/nonceUse.js";
import { findLastFinalInclusion } from "../../store/lanes/blocks/finalInclusions.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findUnknownNonces } from "../../store/lanes/nonces/lostWrappers.js";
import { findWithdrawnWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import type { WatchContext } from "../context.js";
import { adoptIfLost } from "../law/requeueReplaced.js";
import type { Question } from "./doubts.js";

/** The proofs of some nonces may have been found by then. */
const AGAIN_MS = 1_000;
/** A failover takes longer than this, so an answer of this age names the same move. */
const MOVE_CHECK_MS = 1_000;

/**
 * Searches the chain for lost wrappers under nonces that the store does not know as used. Begin it now and then for an hour
 * after the store has moved to another server; it goes on until it has come to its end for now.
 */
export function createLostWrapperSearch(context: WatchContext): Question {
  const { store, chain, nonceProofs } = context;
  const examined = new Set<bigint>();
  let examinedAfter: string | undefined;
  /** A second failover may lose what was stored again after the first. */
  const followMoves = async () => {
    const move = await store.moves.lastMove(MOVE_CHECK_MS);
    if (move !== examinedAfter) examined.clear();
    examinedAfter = move;
  };
  /** Leaves out the uses by withdrawn wrappers: the store knows these. */
  const withoutKnown = async (held: HeldLane, uses: readonly NonceUse[]) => {
    const withdrawn = await findWithdrawnWrappers(
      store,
      held,
      uses.map(({ nonce }) => nonce),
    );
    return uses.filter(
      ({ transaction }) => !withdrawn.some(({ wrapperHash }) => bytesEqual(wrapperHash, transaction.hash)),
    );
  };
  return async (held) => {
    await followMoves();
    const [chainNonce = 0n] = await chain.nonces([held.waiver]);
    const found: NonceUse[] = [];
    const unknown = await findUnknownNonces(store, held, chainNonce, [...examined]);
    const last = await findLastFinalInclusion(store, held);
    for (const nonce of unknown) {
      const sinceBlock = last && last.waiverNonce < nonce ? last.blockNumber : undefined;
      const use = await nonceProofs.find({ account: held.waiver, nonce, sinceBlock });
      if (use) found.push(use);
    }
    await adoptIfLost(held, await withoutKnown(held, found), context);
    for (const { nonce } of found) examined.add(nonce);
    const isOver = found.length === unknown.length || !(await store.moves.hasMoved(MOVE_CHECK_MS));
    return isOver ? undefined : AGAIN_MS;
  };
}
