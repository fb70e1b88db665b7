import { type InclusionReceipt, MAX_SNAPSHOT_ITEMS, type NodeClient } from "../chain/nodeClient.js";
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
import { chunk } from "../util/chunk.js";

/** A submission whose outcome the chain is to tell. */
export interface Candidate {
  readonly id: string;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly senderNonce: bigint;
  /** How often it was signed: 0 if no wrapper can ever have carried it. */
  readonly signings: number;
  /** Undefined for a queued one. */
  readonly waiverNonce?: bigint;
}

/**
 * Some nodes tell of a new nonce before they know the receipt that goes with it. So what contradicts a wrapper of
 * ours must still hold after a while before it counts.
 */
export interface Confirmations {
  /**
   * True if the same, and nothing else, was said of the submission and its present wrapper since at least
   * {@link CONFIRM_MS} ago. What the chain says of it otherwise ends the doubt.
   */
  isConfirmed(candidate: Pick<Candidate, "id" | "signings">, outcome: ChainOutcome["kind"]): boolean;
}

export const CONFIRM_MS = 2_000;
/** Doubts older than this are about submissions that are long settled. */
const FORGET_MS = 600_000;

export function createConfirmations(now: () => number = () => performance.now()): Confirmations {
  const confirmations = new Map<
    string,
    Pick<Candidate, "signings"> & { outcome: ChainOutcome["kind"]; since: number }
  >();
  return {
    isConfirmed({ id, signings }, outcome) {
      const at = now();
      const doubt = confirmations.get(id);
      if (outcome === "open" || outcome === "included") {
        confirmations.delete(id);
        return false;
      }
      if (doubt?.outcome === outcome && doubt.signings === signings) return at - doubt.since >= CONFIRM_MS;
      for (const [other, { since }] of confirmations) if (at - since > FORGET_MS) confirmations.delete(other);
      confirmations.set(id, { outcome, signings, since: at });
      return false;
    },
  };
}

/** What the chain says of a candidate. */
export type ChainOutcome =
  /** The InnerTx is in a block; `foreign` if a wrapper under another nonce than the one it has now carried it. */
  | { readonly kind: "included"; readonly receipt: InclusionReceipt; readonly foreign: boolean }
  /** The sender has used the nonce for another transaction: the InnerTx can never run. */
  | { readonly kind: "nonceUsed"; readonly next: bigint }
  /** The waiver's nonce was used for another wrapper; the InnerTx can still run. */
  | { readonly kind: "replaced" }
  | { readonly kind: "open" };

/** What settling needs of a lane. */
export interface ReconcileContext {
  readonly store: Store;
  readonly chain: NodeClient;
  readonly results: Pick<Results, "publish">;
  /** The lane's: each of its records names the waiver. */
  readonly log: Logger;
  readonly options: Pick<ResolvedOptions, "reorgDepth">;
  readonly confirmations: Confirmations;
  /** The lane was stopped here. */
  readonly onLaneStopped: () => void;
}

/** Suspects of which one question beside the waiver's nonce is asked at once, and of which two are. */
export const RECEIPT_BATCH = MAX_SNAPSHOT_ITEMS - 1;
const RECEIPT_AND_NONCE_BATCH = Math.floor(RECEIPT_BATCH / 2);

/**
 * What became of the candidates, in their order. Most have a receipt, and that says it all; of the others one node is asked
 * at one moment for everything.
 */
export async function chainOutcomes(
  waiver: Uint8Array,
  candidates: readonly Candidate[],
  { chain }: Pick<ReconcileContext, "chain">,
): Promise<ChainOutcome[]> {
  const parts = chunk(candidates, RECEIPT_BATCH);
  const outcomes = (await Promise.all(parts.map((part) => outcomesByReceipt(waiver, part, chain)))).flat();
  const others: ChainOutcome[] = [];
  for (const part of chunk(
    candidates.filter((_, i) => outcomes[i] === undefined),
    RECEIPT_AND_NONCE_BATCH,
  )) {
    others.push(...(await outcomesWithoutReceipt(waiver, part, chain)));
  }
  return outcomes.map((outcome) => outcome ?? others.shift() ?? { kind: "open" });
}

async function outcomesByReceipt(
  waiver: Uint8Array,
  candidates: readonly Candidate[],
  chain: NodeClient,
): Promise<(ChainOutcome | undefined)[]> {
  const { receipts, nonceAfter } = await chain.snapshot(
    [waiver],
    candidates.map((s) => s.innerHash),
  );
  return candidates.map((candidate, i) => includedBy(receipts[i], candidate, nonceAfter));
}

async function outcomesWithoutReceipt(
  waiver: Uint8Array,
  candidates: readonly Candidate[],
  chain: NodeClient,
): Promise<ChainOutcome[]> {
  const { nonces, receipts, nonceAfter } = await chain.snapshot(
    [waiver, ...candidates.map((s) => s.sender)],
    candidates.map((s) => s.innerHash),
  );
  const [waiverNext = 0n, ...senderNext] = nonces;
  return candidates.map((candidate, i): ChainOutcome => {
    const { senderNonce, waiverNonce } = candidate;
    const included = includedBy(receipts[i], candidate, nonceAfter);
    if (included) return included;
    const next = senderNext[i] ?? 0n;
    if (senderNonce < next) return { kind: "nonceUsed", next };
    if (waiverNonce !== undefined && waiverNonce < waiverNext) return { kind: "replaced" };
    return { kind: "open" };
  });
}

function includedBy(
  receipt: InclusionReceipt | undefined,
  { waiverNonce }: Candidate,
  nonceAfter: bigint,
): ChainOutcome | undefined {
  if (receipt === undefined) return undefined;
  return { kind: "included", receipt, foreign: waiverNonce === undefined || waiverNonce >= nonceAfter };
}

/** Settles what the chain has settled: by the receipts, then by the sender's nonce, then by the waiver's. */
export async function reconcile(
  held: HeldLane,
  candidates: readonly Candidate[],
  dependencies: ReconcileContext,
): Promise<void> {
  if (candidates.length === 0) return;
  const { store, results, options, confirmations } = dependencies;
  const outcomes = await chainOutcomes(held.waiver, candidates, dependencies);
  const judged = candidates.map((candidate, i) => ({
    candidate,
    outcome: outcomes[i] ?? { kind: "open" as const },
  }));
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
  const sure = judged.filter(({ candidate, outcome }) => {
    const confirmed = confirmations.isConfirmed(candidate, outcome.kind);
    return confirmed || candidate.signings === 0;
  });
  const nonceUsed = sure.flatMap(({ candidate: { id, senderNonce }, outcome }) => {
    if (outcome.kind !== "nonceUsed") return [];
    const message = `nonce ${senderNonce} is already used: the sender's next is ${outcome.next}`;
    return [{ id, reason: "NONCE_TOO_LOW" as const, message }];
  });
  await failSubmissions(held, nonceUsed, dependencies);
  const replaced = sure
    .filter(({ outcome }) => outcome.kind === "replaced")
    .map(({ candidate }) => candidate);
  await requeueReplaced(held, replaced, dependencies);
}

/** Ends submissions for good, and says so. */
export async function failSubmissions(
  held: HeldLane,
  failed: readonly (Failure & { readonly id: string })[],
  { store, results }: ReconcileContext,
): Promise<void> {
  const byId = new Map(failed.map((failure) => [failure.id, failure]));
  results.publish(await saveFailed(store, held, failed), (id) => {
    const { reason = "NODE_REFUSED", message = "" } = byId.get(id) ?? {};
    return { state: "failed", reason, message };
  });
}

/** So many times something else may use the key before the lane stops instead of fighting. */
const FOREIGN_USES = 2;
/** What has lost its nonce waits until a lane that is stopped for it knows so: another lane may take it then. */
const REPLACED_DELAY_MS = 1_500;

/** They go out again under other nonces. Who used the old ones is found out: wrappers that we took back, or others. */
async function requeueReplaced(
  held: HeldLane,
  replaced: readonly Candidate[],
  dependencies: ReconcileContext,
): Promise<void> {
  if (replaced.length === 0) return;
  const { store, chain, log } = dependencies;
  const nonces = replaced.flatMap(({ waiverNonce }) => waiverNonce ?? []);
  const withdrawn = await findWithdrawnWrappers(store, held, nonces);
  const receipts = await chain.receipts(withdrawn.map(({ wrapperHash }) => wrapperHash));
  const ours = new Set(withdrawn.filter((_, i) => receipts[i]).map(({ waiverNonce }) => waiverNonce));
  const requeued = await saveRequeued(
    store,
    held,
    replaced.map(({ id }) => id),
    REPLACED_DELAY_MS,
  );
  if (requeued.length === 0) return;
  if (ours.size > 0) {
    const landed = [...ours].map(String);
    log.warn({ nonces: landed }, "wrappers that were taken back landed after all, under their nonces");
  }
  const foreign = nonces.filter((nonce) => !ours.has(nonce));
  if (foreign.length > 0) await countForeign(held, foreign, dependencies);
}

/** That a nonce was used by something else is counted, named, and at last an end. */
async function countForeign(
  held: HeldLane,
  used: readonly bigint[],
  { store, log, onLaneStopped }: ReconcileContext,
): Promise<void> {
  const nonces = used.map(String);
  const uses = await countForeignUses(store, held.chain, held.waiver, 1);
  log.error({ nonces, uses }, "the chain used the waiver's nonces for wrappers that are not ours");
  if (uses < FOREIGN_USES) return;
  const reason = `something else sends with this waiver's key: its nonces ${nonces.join(", ")} were used by other wrappers`;
  await setLaneState(store, held.chain, held.waiver, "stopped", reason);
  onLaneStopped();
  log.fatal({ reason }, "the lane stops; open it again when nothing else holds the key");
}
