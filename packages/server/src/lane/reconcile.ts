import type { NodeClient } from "../chain/nodeClient.js";
import type { Logger } from "../model/log.js";
import type { ResolvedOptions } from "../model/options.js";
import type { Failure } from "../model/submission.js";
import type { Results } from "../results/results.js";
import { countForeignUses } from "../store/lanes/countForeignUses.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import { setLaneState } from "../store/lanes/setLaneState.js";
import { findWithdrawnWrappers } from "../store/lanes/withdrawnWrappers.js";
import type { Store } from "../store/store.js";
import { saveFailed } from "../store/transitions/saveFailed.js";
import { saveIncluded } from "../store/transitions/saveIncluded.js";
import { saveRequeued } from "../store/transitions/saveRequeued.js";
import { type Candidate, type ChainOutcome, chainOutcomes } from "./chainOutcomes.js";
import type { Confirmations } from "./confirmations.js";

/** The parts of a lane that reconciling needs. */
export interface ReconcileContext {
  readonly store: Store;
  readonly chain: NodeClient;
  readonly results: Pick<Results, "publish">;
  /** Names the waiver in each record. */
  readonly log: Logger;
  readonly options: Pick<ResolvedOptions, "reorgDepth">;
  readonly confirmations: Confirmations;
  /** Is called when the lane was stopped here. */
  readonly onLaneStopped: () => void;
}

interface Judged {
  readonly candidate: Candidate;
  readonly outcome: ChainOutcome;
}

/**
 * Brings the store to what the chain says of the candidates: first the included ones, then those whose sender's nonce
 * was used, then those whose waiver nonce was used. The last two count once they are confirmed.
 */
export async function reconcile(
  held: HeldLane,
  candidates: readonly Candidate[],
  context: ReconcileContext,
): Promise<void> {
  if (candidates.length === 0) return;
  const outcomes = await chainOutcomes(held.waiver, candidates, context);
  const judged = candidates.map(
    (candidate, i): Judged => ({ candidate, outcome: outcomes[i] ?? { kind: "open" } }),
  );
  await includeExecuted(held, judged, context);
  const confirmed = judged.filter(({ candidate, outcome }) => {
    const isConfirmed = context.confirmations.isConfirmed(candidate, outcome.kind);
    return isConfirmed || candidate.signings === 0;
  });
  await failSubmissions(held, confirmed.flatMap(failureByUsedNonce), context);
  const replaced = confirmed.filter(({ outcome }) => outcome.kind === "replaced");
  await requeueReplaced(
    held,
    replaced.map(({ candidate }) => candidate),
    context,
  );
}

async function includeExecuted(
  held: HeldLane,
  judged: readonly Judged[],
  { store, results, options }: ReconcileContext,
): Promise<void> {
  const included = judged.flatMap(({ candidate: { id }, outcome }) => {
    if (outcome.kind !== "included") return [];
    const { succeeded, ...block } = outcome.receipt;
    return [{ id, ...block, reverted: !succeeded, foreign: outcome.foreign }];
  });
  const reverted = new Map(included.map(({ id, reverted }) => [id, reverted]));
  results.publish(await saveIncluded(store, held, included, options.reorgDepth === 0), (id) => ({
    state: "included",
    reverted: reverted.get(id) === true,
  }));
}

function failureByUsedNonce({ candidate, outcome }: Judged): (Failure & { readonly id: string })[] {
  if (outcome.kind !== "nonceUsed") return [];
  const message = `nonce ${candidate.senderNonce} is already used: the sender's next is ${outcome.next}`;
  return [{ id: candidate.id, reason: "NONCE_TOO_LOW", message }];
}

/** Ends submissions as failed, and notifies their result lines. */
export async function failSubmissions(
  held: HeldLane,
  failed: readonly (Failure & { readonly id: string })[],
  { store, results }: Pick<ReconcileContext, "store" | "results">,
): Promise<void> {
  const byId = new Map(failed.map((failure) => [failure.id, failure]));
  results.publish(await saveFailed(store, held, failed), (id) => {
    const { reason = "NODE_REFUSED", message = "" } = byId.get(id) ?? {};
    return { state: "failed", reason, message };
  });
}

/** At this many uses of the key by something else the lane stops. */
const MAX_FOREIGN_USES = 2;
/** A replaced submission waits until a lane that is stopped for it knows so. Then another lane may take it. */
const REPLACED_DELAY_MS = 1_500;

/** Queues replaced submissions, which get other nonces, and finds out whose wrappers used the old ones. */
async function requeueReplaced(
  held: HeldLane,
  replaced: readonly Candidate[],
  context: ReconcileContext,
): Promise<void> {
  if (replaced.length === 0) return;
  const { store, chain, log } = context;
  const nonces = replaced.flatMap(({ waiverNonce }) => waiverNonce ?? []);
  const withdrawn = await findWithdrawnWrappers(store, held, nonces);
  const receipts = await chain.receipts(withdrawn.map(({ wrapperHash }) => wrapperHash));
  const ours = new Set(withdrawn.filter((_, i) => receipts[i]).map(({ waiverNonce }) => waiverNonce));
  const ids = replaced.map(({ id }) => id);
  const requeued = await saveRequeued(store, held, ids, REPLACED_DELAY_MS);
  if (requeued.length === 0) return;
  if (ours.size > 0) {
    const landed = [...ours].map(String);
    log.warn({ nonces: landed }, "wrappers that were taken back landed after all, under their nonces");
  }
  const foreign = nonces.filter((nonce) => !ours.has(nonce));
  if (foreign.length > 0) await countForeign(held, foreign, context);
}

/** Counts and reports the nonces that something else has used, and stops the lane at the limit. */
async function countForeign(
  held: HeldLane,
  used: readonly bigint[],
  { store, log, onLaneStopped }: ReconcileContext,
): Promise<void> {
  const nonces = used.map(String);
  const uses = await countForeignUses(store, held.chain, held.waiver, 1);
  log.error({ nonces, uses }, "the chain used the waiver's nonces for wrappers that are not ours");
  if (uses < MAX_FOREIGN_USES) return;
  const reason = `something else sends with this waiver's key: its nonces ${nonces.join(", ")} were used by other wrappers`;
  await setLaneState(store, held.chain, held.waiver, "stopped", reason);
  onLaneStopped();
  log.fatal({ reason }, "the lane stops; open it again when nothing else holds the key");
}
