import { decodeInnerTx, hashTransaction, signWrapperTx } from "@gas-waiver/protocol";
import type { LaneContext } from "./lane.js";
import { freeNonces, type Plan, planSender } from "./plan.js";
import { fail, settle } from "./settle.js";
import { type SignedSubmission, saveRequeued, saveSigned } from "./store/advance.js";
import type { Lane } from "./store/lease.js";
import { nextQueued, postpone, type QueuedSubmission } from "./store/queue.js";
import type { Store } from "./store/Store.js";
import {
  firstOpenNonce,
  type LaneView,
  type TakenNonce,
  takenNonces,
  type UnderWay,
  viewLane,
} from "./store/underWay.js";

/** When a submission ahead of its turn is looked at again. */
const EARLY_MS = 250;

/** What an assignment came to. */
export interface Assigned {
  /** Signed and stored, in the order of their waiver nonces: to be sent. */
  readonly signed: readonly UnderWay[];
  /** Something else was done that may have made room for more. */
  readonly again: boolean;
}

/** Gives at most `limit` queued submissions their waiver nonces and wrappers, in one write. */
export async function assign(
  held: Lane,
  waiverKey: Uint8Array,
  limit: number,
  dependencies: LaneContext,
): Promise<Assigned> {
  const { store, chain, options } = dependencies;
  const nothing = { signed: [], again: false };
  const queued = await nextQueued(store, held, limit);
  const senders = queued.flatMap(([first]) => (first ? [first.sender] : []));
  const view = await viewLane(store, held, senders);
  const room = Math.min(limit, options.maxInFlight - view.taken.count);
  if (room <= 0 || (queued.length === 0 && view.taken.count === 0)) return nothing;
  // After the store: what is settled in between counts as under way and as used, never as neither.
  const [waiverNonce = 0n, ...onChain] = await chain.nonces([held.waiver, ...senders]);
  const plans = queued.map((ofSender, i) =>
    planSender(ofSender, onChain[i] ?? 0n, view.senders[i] ?? new Set(), options.nonceGapTimeoutMs),
  );
  await settleUnready(held, plans, dependencies);
  const ready = plans
    .flatMap((plan) => plan.ready)
    .sort((a, b) => a.place - b.place)
    .slice(0, room);
  const nonces =
    noncesBehind(view, waiverNonce, ready.length) ??
    (await noncesBetween(held, waiverNonce, ready.length, dependencies));
  if (nonces === undefined) return { signed: [], again: true };
  const signed = ready.map((submission, i) => sign(submission, nonces[i] ?? 0n, waiverKey, options));
  const saved = new Set((await saveSigned(store, held, signed)).map(({ id }) => id));
  return { signed: signed.filter(({ id }) => saved.has(id)).map(toUnderWay), again: false };
}

type Signed = SignedSubmission & { readonly submission: QueuedSubmission };

function sign(
  submission: QueuedSubmission,
  waiverNonce: bigint,
  waiverKey: Uint8Array,
  { verificationGas }: { readonly verificationGas: bigint },
): Signed {
  const inner = decodeInnerTx(submission.innerRaw);
  const wrapper = signWrapperTx(inner, waiverKey, { nonce: waiverNonce, verificationGas });
  const { id } = submission;
  return { id, submission, waiverNonce, wrapperRaw: wrapper.raw, wrapperHash: hashTransaction(wrapper) };
}

function toUnderWay({ submission, waiverNonce, wrapperRaw, wrapperHash }: Signed): UnderWay {
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

/**
 * The lowest free waiver nonces where the taken ones leave no hole, as is nearly always so: the next ones behind
 * them. Undefined if there is a hole.
 */
function noncesBehind(
  { taken, afterIncluded }: LaneView,
  chainNonce: bigint,
  count: number,
): bigint[] | undefined {
  const first = chainNonce > afterIncluded ? chainNonce : afterIncluded;
  const { lowest, highest } = taken;
  if (taken.count === 0 || first > highest) return freeNonces(first, new Set(), count);
  const isDense = highest - lowest + 1n === BigInt(taken.count);
  return isDense && first >= lowest ? freeNonces(highest + 1n, new Set(), count) : undefined;
}

/** The lowest free waiver nonces, one by one. Undefined if holes were left over: then room was made for filling them. */
async function noncesBetween(
  held: Lane,
  chainNonce: bigint,
  count: number,
  { store }: LaneContext,
): Promise<bigint[] | undefined> {
  const taken = await takenNonces(store, held);
  // After the taken ones: what is settled in between counts twice, never not at all.
  const first = await firstOpenNonce(store, held, chainNonce);
  if (await fillHoles(store, held, first, taken, count)) return undefined;
  return freeNonces(first, new Set(taken.map((t) => t.waiverNonce)), count);
}

/** What cannot go now: the late ones are for the chain to settle, the early ones wait, the others have failed. */
async function settleUnready(held: Lane, plans: readonly Plan[], dependencies: LaneContext): Promise<void> {
  const late = plans.flatMap((plan) => plan.late);
  await settle(held, late, dependencies);
  await fail(
    held,
    plans.flatMap((plan) => plan.failed),
    dependencies,
  );
  // Of the late ones, those that the settlement is not sure of yet.
  const waiting = plans.flatMap((plan) => [...plan.early, ...plan.late].map(({ id }) => id));
  await postpone(dependencies.store, held, waiting, EARLY_MS);
}

/**
 * A waiver nonce below a taken one that nothing will take would hold up everything above it. Then the highest of
 * the lane are queued again, to come back under the missing nonces; a user's nonce lets an InnerTx run only once.
 * With them go their senders' others above the hole, or a user's later nonce would come before the earlier.
 */
async function fillHoles(
  store: Store,
  held: Lane,
  first: bigint,
  taken: readonly TakenNonce[],
  ready: number,
): Promise<boolean> {
  const highest = taken.at(-1)?.waiverNonce ?? first;
  const above = taken.filter(({ waiverNonce }) => waiverNonce >= first).length;
  const holes = Number(highest - first) + 1 - above;
  const missing = Math.min(holes - ready, above);
  if (taken.length === 0 || highest < first || missing <= 0) return false;
  const [hole = first] = freeNonces(first, new Set(taken.map(({ waiverNonce }) => waiverNonce)), 1);
  const senders = new Set(taken.slice(-missing).map(({ sender }) => sender));
  const ids = taken
    .filter(({ waiverNonce, sender }) => waiverNonce > hole && senders.has(sender))
    .map(({ id }) => id);
  return (await saveRequeued(store, held, ids, 0)).length > 0;
}
