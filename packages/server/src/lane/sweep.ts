import { activeSubmissions } from "../store/inFlight.js";
import type { HeldLane } from "../store/lease.js";
import { forgetWithdrawn } from "../store/withdrawn.js";
import type { LaneContext } from "./lane.js";
import { type Candidate, type ChainOutcome, chainOutcomes, reconcile, WITH_RECEIPT } from "./reconcile.js";

/** A submission whose record and chain disagree. */
export interface Finding {
  readonly suspect: Candidate & { readonly state: "queued" | "signed" | "broadcast" };
  readonly fate: Exclude<ChainOutcome, { kind: "open" }>;
}

/** Submissions that are held against the chain at once. */
const BATCH = 2 * WITH_RECEIPT;

/** Holds everything that the lane has not finished against the chain; changes nothing. */
export async function examine(
  lane: Pick<HeldLane, "chain" | "waiver">,
  dependencies: Pick<LaneContext, "store" | "chain">,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  let after = "00000000-0000-0000-0000-000000000000";
  for (;;) {
    const suspects = await activeSubmissions(dependencies.store, lane, after, BATCH);
    const fates = await chainOutcomes(lane.waiver, suspects, dependencies);
    suspects.forEach((suspect, i) => {
      const fate = fates[i];
      if (fate && fate.kind !== "open") findings.push({ suspect, fate });
    });
    const last = suspects.at(-1);
    if (last === undefined || suspects.length < BATCH) return findings;
    after = last.id;
  }
}

/** Reconciles store and chain: on start and now and then, whatever was missed on the way. */
export async function sweep(held: HeldLane, dependencies: LaneContext): Promise<Finding[]> {
  const [chainNonce = 0n] = await dependencies.chain.nonces([held.waiver]);
  await forgetWithdrawn(dependencies.store, held, chainNonce);
  const findings = await examine(held, dependencies);
  if (findings.length === 0) return findings;
  const counts: Record<string, number> = {};
  for (const { fate } of findings) counts[fate.kind] = (counts[fate.kind] ?? 0) + 1;
  dependencies.log.info(counts, "the sweep settles what the chain has settled");
  await reconcile(
    held,
    findings.map(({ suspect }) => suspect),
    dependencies,
  );
  return findings;
}
