import { type ChainNonces, fetchNonces } from "../chain/nonces.js";
import type { HeldLane } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";
import { type LaneSnapshot, type QueuedSubmission, readLaneSnapshot } from "../store/lanes/laneSnapshot.js";
import { type AssignedNonce, findAssignedNonces, findFirstFreeNonce } from "../store/lanes/waiverNonces.js";
import type { Store } from "../store/store.js";
import { postponeQueued } from "../store/transitions/postponeQueued.js";
import { saveRequeued } from "../store/transitions/saveRequeued.js";
import { type SignedSubmission, saveSigned } from "../store/transitions/saveSigned.js";
import type { LaneContext } from "./lane.js";
import { excuseNonceGaps } from "./nonceGap.js";
import { freeNonces, planSender, type SenderPlan } from "./plan.js";
import { failSubmissions, reconcile } from "./reconcile.js";
import { reroute } from "./reroute.js";

/** When a submission ahead of its turn is looked at again. */
const EARLY_MS = 250;

/** What an assignment came to. */
export interface Assigned {
  /** Signed and stored, in the order of their waiver nonces: to be sent. */
  readonly signed: readonly InFlightSubmission[];
  /** More may be ready, or room was made for it. Else a look at once would find nothing. */
  readonly stepAgain: boolean;
}

export interface AssignOptions {
  /** So many submissions at most. */
  readonly limit: number;
  /** The last look did not see all that was queued: then it is of no use to guess who comes. */
  readonly backlog?: boolean;
}

/** Gives at most `limit` queued submissions their waiver nonces and wrappers, in one write. */
export async function assign(
  held: HeldLane,
  waiverKey: Uint8Array,
  { limit, backlog = false }: AssignOptions,
  dependencies: LaneContext,
): Promise<Assigned> {
  const { store, chain, options, signer, broadcastBuffer } = dependencies;
  const nothing = { signed: [], stepAgain: false };
  const expected = dependencies.expectedSenders.take(held.waiver);
  // The chain's answer for those who are expected comes while the store is asked.
  const [look, early] = await Promise.all([
    readLaneSnapshot(store, held, limit),
    expected.length > 0 && !backlog ? fetchNonces(chain, held.waiver, expected) : undefined,
  ]);
  const { assigned } = look;
  const senders = await reroute(held, look.senders, dependencies);
  const room = Math.min(limit, options.maxInFlight - assigned.count);
  if (room <= 0 || (senders.length === 0 && assigned.count === 0)) return nothing;
  const planBy = (nonces: ChainNonces) => ({
    waiverNonce: nonces.waiver,
    plans: senders.map(({ sender, queued, inFlightNonces }) =>
      planSender(queued, nonces.of(sender) ?? 0n, inFlightNonces, options.nonceGapTimeoutMs),
    ),
  });
  const isKnown = early && senders.every(({ sender }) => early.of(sender) !== undefined);
  const hasty = isKnown ? planBy(early) : undefined;
  // Else after the store: what is settled in between counts as under way and as used, never as neither.
  const { waiverNonce, plans: sorted } = hasty?.plans.every(isReady)
    ? hasty
    : planBy(
        await fetchNonces(
          chain,
          held.waiver,
          senders.map(({ sender }) => sender),
        ),
      );
  const plans = await excuseNonceGaps(held, senders, sorted, dependencies);
  await settleUnready(held, plans, dependencies);
  const ready = plans
    .flatMap((plan) => plan.ready)
    .sort((a, b) => a.position - b.position)
    .slice(0, room);
  const placed =
    placeBehind(look, waiverNonce, ready) ?? (await placeBetween(held, waiverNonce, ready, dependencies));
  if (placed === undefined) return { signed: [], stepAgain: true };
  if (placed.length === 0) return nothing;
  const toWrap = placed.map(({ submission, waiverNonce }) => ({
    innerRaw: submission.innerRaw,
    waiverNonce,
  }));
  const wrappers = await signer.sign(toWrap, waiverKey);
  const signed = placed.map((place, i): Signed => {
    const wrapper = wrappers[i];
    if (wrapper === undefined) throw new Error("something was not signed");
    return { ...place, ...wrapper, id: place.submission.id };
  });
  const moved = await broadcastBuffer.storeAlongside(held, (wrappers) =>
    saveSigned(store, held, signed, wrappers),
  );
  const saved = new Set(moved.signed.map(({ id }) => id));
  const seen = look.senders.reduce((count, { queued }) => count + queued.length, 0);
  return {
    signed: signed.filter(({ id }) => saved.has(id)).map(toUnderWay),
    stepAgain: saved.size > 0 && seen >= limit,
  };
}

/**
 * Everything that a sender has queued can go. That holds also by nonces that are older than the look at the store: had
 * something been settled in between, a submission would seem to be ahead of its turn.
 */
function isReady({ late, early, failed }: SenderPlan): boolean {
  return late.length + early.length + failed.length === 0;
}

type Signed = SignedSubmission & { readonly submission: QueuedSubmission };

function toUnderWay({ submission, waiverNonce, wrapperRaw, wrapperHash }: Signed): InFlightSubmission {
  const { id, innerHash, sender, senderNonce } = submission;
  const signings = submission.signings + 1;
  return {
    id,
    state: "signed",
    signings,
    waiverNonce,
    wrapperRaw,
    wrapperHash,
    innerHash,
    sender,
    senderNonce,
  };
}

/** A submission with the waiver nonce that it gets. */
interface Placed {
  readonly submission: QueuedSubmission;
  readonly waiverNonce: bigint;
}

function place(ready: readonly QueuedSubmission[], nonces: readonly bigint[]): Placed[] {
  return ready.map((submission, i) => ({ submission, waiverNonce: nonces[i] ?? 0n }));
}

/** Where the taken waiver nonces leave no hole, as is nearly always so: backlog them. Undefined if there is a hole. */
function placeBehind(
  { assigned, nextAfterIncluded }: LaneSnapshot,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
): Placed[] | undefined {
  const first = chainNonce > nextAfterIncluded ? chainNonce : nextAfterIncluded;
  const { lowest, highest } = assigned;
  const isDense = first >= lowest && highest - lowest + 1n === BigInt(assigned.count);
  if (assigned.count > 0 && first <= highest && !isDense) return undefined;
  const next = assigned.count > 0 && highest >= first ? highest + 1n : first;
  return place(ready, freeNonces(next, new Set(), ready.length));
}

/** At the lowest free waiver nonces, one by one. Undefined if holes were left over, and room was made to fill them. */
async function placeBetween(
  held: HeldLane,
  chainNonce: bigint,
  ready: readonly QueuedSubmission[],
  { store }: LaneContext,
): Promise<Placed[] | undefined> {
  const taken = await findAssignedNonces(store, held);
  // After the taken ones: what is settled in between counts twice, never not at all.
  const first = await findFirstFreeNonce(store, held, chainNonce);
  const { fitting, others } = splitByHoles(ready, first, taken);
  if (await fillHoles(store, held, first, taken, fitting.length)) return undefined;
  const nonces = freeNonces(first, new Set(taken.map((t) => t.waiverNonce)), ready.length);
  return place([...fitting, ...others], nonces);
}

/** What cannot go now: the late ones are for the chain to settle, the early ones wait, the others have failed. */
async function settleUnready(
  held: HeldLane,
  plans: readonly SenderPlan[],
  dependencies: LaneContext,
): Promise<void> {
  const late = plans.flatMap((plan) => plan.late);
  await reconcile(held, late, dependencies);
  await failSubmissions(
    held,
    plans.flatMap((plan) => plan.failed),
    dependencies,
  );
  // Of the late ones, those that the settlement is not sure of yet.
  const waiting = plans.flatMap((plan) => [...plan.early, ...plan.late].map(({ id }) => id));
  await postponeQueued(dependencies.store, held, waiting, EARLY_MS);
}

/**
 * Those that may fill a hole among the taken nonces, and those whose sender has something above it: there a later
 * nonce of the sender would come before an earlier one.
 */
function splitByHoles(
  ready: readonly QueuedSubmission[],
  first: bigint,
  taken: readonly AssignedNonce[],
): { fitting: QueuedSubmission[]; others: QueuedSubmission[] } {
  const hole = firstFree(first, taken);
  const above = new Set(taken.filter(({ waiverNonce }) => waiverNonce > hole).map(({ sender }) => sender));
  const isFitting = ({ sender }: QueuedSubmission) => !above.has(Buffer.from(sender).toString("hex"));
  return { fitting: ready.filter(isFitting), others: ready.filter((one) => !isFitting(one)) };
}

function firstFree(first: bigint, taken: readonly AssignedNonce[]): bigint {
  return freeNonces(first, new Set(taken.map(({ waiverNonce }) => waiverNonce)), 1)[0] ?? first;
}

/**
 * A waiver nonce below a taken one that nothing will take would hold up everything above it. Then the highest of
 * the lane are queued again, to come back under the missing nonces; a user's nonce lets an InnerTx run only once.
 * With them go their senders' others above the hole, or a user's later nonce would come before the earlier.
 */
async function fillHoles(
  store: Store,
  held: HeldLane,
  first: bigint,
  taken: readonly AssignedNonce[],
  ready: number,
): Promise<boolean> {
  const highest = taken.at(-1)?.waiverNonce ?? first;
  const above = taken.filter(({ waiverNonce }) => waiverNonce >= first).length;
  const holes = Number(highest - first) + 1 - above;
  const missing = Math.min(holes - ready, above);
  if (taken.length === 0 || highest < first || missing <= 0) return false;
  const hole = firstFree(first, taken);
  const senders = new Set(taken.slice(-missing).map(({ sender }) => sender));
  const ids = taken
    .filter(({ waiverNonce, sender }) => waiverNonce > hole && senders.has(sender))
    .map(({ id }) => id);
  return (await saveRequeued(store, held, ids, 0)).length > 0;
}
