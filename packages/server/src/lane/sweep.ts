import type { HeldLane } from "../store/lanes/heldLane.js";
import { findUnfinished } from "../store/lanes/unfinished.js";
import { forgetWithdrawnWrappers } from "../store/lanes/withdrawnWrappers.js";
import type { LaneContext } from "./lane.js";
import { type Candidate, type ChainOutcome, chainOutcomes, RECEIPT_BATCH, reconcile } from "./reconcile.js";

/** A submission whose record and chain disagree. */
export interface Finding {
  readonly candidate: Candidate & { readonly state: "queued" | "signed" | "broadcast" };
  readonly outcome: Exclude<ChainOutcome, { kind: "open" }>;
}

/** Submissions that are held against the chain at once. */
const BATCH = 2 * RECEIPT_BATCH;

/** Holds everything that the lane has not finished against the chain; changes nothing. */
export async function examine(
  lane: Pick<HeldLane, "chain" | "waiver">,
  dependencies: Pick<LaneContext, "store" | "chain">,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const candidates = await findUnfinished(dependencies.store, lane, after, BATCH);
    const outcomes = await chainOutcomes(lane.waiver, candidates, dependencies);
    candidates.forEach((candidate, i) => {
      const outcome = outcomes[i];
      if (outcome && outcome.kind !== "open") findings.push({ candidate, outcome });
    });
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < BATCH) return findings;
    after = last.id;
  }
}

/** Reconciles store and chain: on start and now and then, whatever was missed on the way. */
export async function sweep(held: HeldLane, dependencies: LaneContext): Promise<Finding[]> {
  const [chainNonce = 0n] = await dependencies.chain.nonces([held.waiver]);
  await forgetWithdrawnWrappers(dependencies.store, held, chainNonce);
  const findings = await examine(held, dependencies);
  if (findings.length === 0) return findings;
  const counts: Record<string, number> = {};
  for (const { outcome } of findings) counts[outcome.kind] = (counts[outcome.kind] ?? 0) + 1;
  dependencies.log.info(counts, "the sweep settles what the chain has settled");
  await reconcile(
    held,
    findings.map(({ candidate }) => candidate),
    dependencies,
  );
  return findings;
}
