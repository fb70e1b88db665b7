import type { HeldLane } from "../../store/lanes/heldLane.js";
import { forgetWithdrawnWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import { findUnfinished } from "../../store/lanes/queue/unfinished.js";
import type { WatchContext } from "../context.js";
import { type Candidate, type ChainOutcome, chainOutcomes, RECEIPT_BATCH } from "../law/chainOutcomes.js";
import { reconcile } from "../law/reconcile.js";

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
 * Reconciles the whole lane with the chain, at its start and each `sweepIntervalMs`, and so finds the outcomes that the watcher
 * missed.
 */
export async function sweep(held: HeldLane, context: WatchContext): Promise<Finding[]> {
  const [chainNonce = 0n] = await context.chain.nonces([held.waiver]);
  await forgetWithdrawnWrappers(context.store, held, chainNonce);
  const findings = await examine(held, context);
  if (findings.length === 0) return findings;
  const counts: Record<string, number> = {};
  for (const { outcome } of findings) counts[outcome.kind] = (counts[outcome.kind] ?? 0) + 1;
  context.log.info(counts, "the sweep brings submissions to their outcomes on the chain");
  await reconcile(
    held,
    findings.map(({ candidate }) => candidate),
    context,
  );
  return findings;
}
