import { type ChainNonces, fetchNonces } from "../../chain/nonces.js";
import { acceptSigned } from "../../store/accept/acceptSigned.js";
import { type NewSubmission, slotsOf } from "../../store/accept/newSubmission.js";
import { isStoreUnavailable } from "../../store/database/storeTrouble.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { LaneNonces } from "../../store/lanes/queue/laneSnapshot.js";
import type { LaneContext } from "../context.js";
import type { LaneOffer } from "../inbox/laneOffers.js";
import { nextWaiverNonce, setReady } from "./assign.js";
import { type Placeable, placeAbove, type SignedInFlight, signPlaced } from "./placement.js";
import { placesIn } from "./plan.js";

/** A node that takes longer to tell the nonces delays an accept, which needs no node. */
const NONCES_MS = 20;

/**
 * Accepts and signs the lane's offers in one write, if the lane remembers its queue as empty and each submission is its
 * sender's next. The decisions are those of `assign`: waiver nonces go on above the assigned ones.
 * @returns the submissions to send now, in the order of the waiver nonces; undefined if no offer was taken.
 * @throws if the write fails.
 */
export async function acceptOffered(
  held: HeldLane,
  context: LaneContext,
): Promise<readonly SignedInFlight[] | undefined> {
  const { parties } = context;
  const memory = context.laneMemory.begin(held);
  // They wait for a step that reads the queue.
  if (memory.nonces === undefined) return undefined;
  const offers = context.laneOffers.take(parties.shareOfKey);
  if (offers.length === 0) return undefined;
  try {
    parties.note(submissionsOf(offers));
    const prepared = await prepareOffers(held, offers, memory.nonces, context);
    if (prepared === undefined) return undefined;
    // Those that cannot go do not wait for the write.
    for (const offer of offers) if (!prepared.fitting.includes(offer)) offer.decline();
    const signed = await storeOffers(held, prepared, context);
    if (signed === undefined) return undefined;
    memory.endOffers(signed);
    setReady(true, context);
    return signed;
  } finally {
    for (const offer of offers) offer.decline();
  }
}

interface PreparedOffers {
  readonly fitting: readonly LaneOffer[];
  /** In the order of the new submissions. */
  readonly signed: readonly SignedInFlight[];
}

/** Signs the wrappers of the offers that can go. @returns undefined if none can. */
async function prepareOffers(
  held: HeldLane,
  offers: readonly LaneOffer[],
  known: LaneNonces,
  context: LaneContext,
): Promise<PreparedOffers | undefined> {
  const { laneSigner, options, head, replica } = context;
  const nonces = await noncesFor(offers, held, context);
  if (nonces === undefined) return undefined;
  const fitting = offers.filter(({ newSubmissions }) =>
    newSubmissions.every((one) => isNext(one, nonces, held, context)),
  );
  const ready = submissionsOf(fitting).map(placeable);
  // The places of each sender are not counted here, so the whole lane has at most as many in flight as one sender may have.
  const slots = ready.reduce((sum, one) => sum + one.slots, 0);
  const { ofSender: places } = placesIn(options.maxInFlight);
  if (ready.length === 0 || known.inFlight + slots > places) return undefined;
  const placed = placeAbove(known, nextWaiverNonce(held, nonces.waiver, context), ready);
  if (placed === undefined) return undefined;
  const signed = await signPlaced(placed, laneSigner, replica, head?.());
  return signed.length < ready.length ? undefined : { fitting, signed };
}

/** Makes the write, and ends the offers in it. @returns undefined if nothing was stored. */
async function storeOffers(
  held: HeldLane,
  { fitting, signed }: PreparedOffers,
  { store, laneOffers, replica }: LaneContext,
): Promise<readonly SignedInFlight[] | undefined> {
  try {
    if (!(await acceptSigned(store, held, replica, submissionsOf(fitting), signed))) return undefined;
  } catch (error) {
    laneOffers.setReady(false);
    // A statement that the database has refused has stored nothing.
    if (isStoreUnavailable(error)) for (const offer of fitting) offer.fail(error);
    throw error;
  }
  for (const offer of fitting) offer.accept();
  return signed;
}

/** Each field by name: a copy of the rest takes a hundred times as long. */
function placeable(newSubmission: NewSubmission): Placeable {
  const { id, keyId, innerRaw, innerHash, sender, senderNonce } = newSubmission;
  const slots = slotsOf(newSubmission);
  return { id, keyId, innerRaw, innerHash, sender, senderNonce, signings: 0, strikes: 0, slots };
}

function submissionsOf(offers: readonly LaneOffer[]): NewSubmission[] {
  return offers.flatMap(({ newSubmissions }) => newSubmissions);
}

/** @returns undefined if the node does not tell them in time: accepting goes on without it. */
async function noncesFor(
  offers: readonly LaneOffer[],
  { waiver }: HeldLane,
  { chain, laneOffers }: LaneContext,
): Promise<ChainNonces | undefined> {
  const senders = submissionsOf(offers).map(({ sender }) => sender);
  const nonces = await inTime(fetchNonces(chain, waiver, senders), NONCES_MS).catch(() => undefined);
  if (nonces === undefined) laneOffers.pause();
  return nonces;
}

/** Whether the submission is its sender's next, and this waiver may carry it. */
function isNext(
  { sender, senderNonce, innerRaw, keyId }: NewSubmission,
  nonces: ChainNonces,
  { waiver }: HeldLane,
  { routing, laneMemory, strikes }: LaneContext,
): boolean {
  if (strikes.isStruck({ sender, keyId })) return false;
  if (nonces.of(sender) !== senderNonce || laneMemory.hasInFlight(sender)) return false;
  return !routing.policiesDiffer() || routing.carrierOf(waiver, innerRaw) === "here";
}

/** @returns undefined if it takes longer. An answer that has come while this process was held up counts as in time. */
async function inTime<T>(result: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<undefined>((resolve) => {
    // The event loop reads its sockets after the timers, and before the immediates.
    timer = setTimeout(() => setImmediate(resolve, undefined), ms);
  });
  return await Promise.race([result, tooLong]).finally(() => clearTimeout(timer));
}
