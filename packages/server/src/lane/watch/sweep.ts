import type { HeldLane } from "../../store/lanes/heldLane.js";
import { forgetWithdrawnWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import { findUnfinished } from "../../store/lanes/queue/unfinished.js";
import type { WatchContext } from "../context.js";
import { type Candidate, type ChainOutcome, chainOutcomes, RECEIPT_BATCH } from "../law/chainOutcomes.js";
import { reconcile } from "../law/reconcile.js";
import type { Question } from "./doubts.js";

/** A submission on whose state store and chain disagree. */
export interface Finding {
  readonly candidate: Candidate & { readonly state: "queued" | "signed" | "broadcast" };
  readonly outcome: Exclude<ChainOutcome, { kind: "open" }>;
}

/** The submissions that are compared at a time. Two requests to the node suffice where all have a receipt. */
const CANDIDATES_PER_BATCH = 2 * RECEIPT_BATCH;
const LOWEST_ID = "00000000-0000-0000-0000-000000000000";

/** Compares everything that the lane has not finished with the chain. Changes nothing. */
export async function examine(
  lane: Pick<HeldLane, "chain" | "waiver">,
  context: Pick<WatchContext, "store" | "chain">,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  let after = LOWEST_ID;
  for (;;) {
    const candidates = await findUnfinished(context.store, lane, after, CANDIDATES_PER_BATCH);
    const outcomes = await chainOutcomes(lane.waiver, candidates, context);
    candidates.forEach((candidate, i) => {
      const outcome = outcomes[i];
      if (outcome && outcome.kind !== "open") findings.push({ candidate, outcome });
    });
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < CANDIDATES_PER_BATCH) return findings;
    after = last.id;
  }
}

/**
 * Reconciles everything that the lane has not finished with the chain, page by page, at the lane's start and each
 * `sweepIntervalMs`: it finds the outcomes that nobody else has looked for.
 */
export function createSweep(context: WatchContext): Question {
  let after = LOWEST_ID;
  return async (held) => {
    if (after === LOWEST_ID) {
      const [chainNonce = 0n] = await context.chain.nonces([held.waiver]);
      await forgetWithdrawnWrappers(context.store, held, chainNonce);
    }
    const page = await findUnfinished(context.store, held, after, RECEIPT_BATCH);
    await reconcile(held, page, context);
    const last = page.length < RECEIPT_BATCH ? undefined : page.at(-1);
    after = last?.id ?? LOWEST_ID;
    return last ? 0 : context.options.sweepIntervalMs;
  };
}
