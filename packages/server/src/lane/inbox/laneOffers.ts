import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import { type Acceptance, keyIdOf, type NewSubmission } from "../../store/accept/newSubmission.js";
import { FairQueue } from "../../util/fairQueue.js";

/**
 * Offers new submissions to lanes at rest, which accept and sign them in one write. A lane that knows its queue as empty
 * takes the submissions that fit into its next step, and declines submissions that need a decision by the store or the
 * chain. An offer stores nothing: declined submissions are accepted into the queue.
 */
export interface LaneOffers {
  /**
   * Offers the new submissions of one request.
   * @returns undefined if they were declined. Then nothing of them was stored.
   * @throws what the write of the lane has failed with.
   */
  offer(newSubmissions: readonly NewSubmission[]): Promise<Acceptance[] | undefined>;
  /** Whether a step can take something. */
  has(waiver: Uint8Array): boolean;
  /**
   * Takes requests, the API keys in turns. No two of them have a sender in common. The step ends each in one of three ways.
   * @param shareOfKey returns the most submissions of one API key, of a number in all. One request of each key may have more.
   */
  take(waiver: Uint8Array, shareOfKey: (all: number) => number): readonly LaneOffer[];
  /**
   * Says whether the next step of the lane can take offers, if it comes soon. If not, all that wait are declined.
   * @param hasInFlight whether something of a sender is in flight, so that its submissions would be declined.
   */
  setReady(waiver: Uint8Array, isReady: boolean, hasInFlight?: (sender: Uint8Array) => boolean): void;
  /**
   * Declines the lane's waiting offers, and new offers for a while. The while doubles until an offer is accepted.
   */
  pause(waiver: Uint8Array): void;
}

/** A request that is offered to a lane. The first of its endings counts. */
export interface LaneOffer {
  readonly newSubmissions: readonly NewSubmission[];
  /** It is stored. */
  accept(): void;
  /** Nothing of it is stored. */
  decline(): void;
  /** It may be stored or not. */
  fail(error: unknown): void;
}

interface WaitingOffer extends LaneOffer {
  /** Their senders in hex, in their order. */
  readonly senders: readonly string[];
}

interface OffersOfLane {
  readonly queue: FairQueue<WaitingOffer>;
  /** The senders of what is in the queue: as many as there are new submissions in it, because no two have one in common. */
  readonly senders: Set<string>;
  hasInFlight: (sender: Uint8Array) => boolean;
  readyAt: number;
  pausedUntil: number;
  pauses: number;
  /** The number of new submissions in the queue, of each API key that has some. */
  readonly waitingOfKey: Map<string, number>;
  /** The most submissions that the last step took of one key. */
  shareOfKey: number;
  /** Declines what waits, unless a step takes something before. */
  timer: NodeJS.Timeout | undefined;
}

/** The most new submissions of one step: others wait for its write. */
const MAX_TAKEN = 150;
/**
 * The most steps that waiting offers may fill, in all or of one API key. Beyond, the queue is the faster way into the
 * store.
 */
const MAX_STEPS = 2;
/** A lane that took no step for longer reads its queue, or is another replica's by now. */
const READY_MS = 250;
/** A step that takes longer waits for a node or for the database. One of many submissions takes half of it on a slow machine. */
const MAX_STEP_MS = 100;
/** A collection of garbage is over soon; a node that is far away stays so. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5_000;

/**
 * @param wake ends the rest of a waiver's lane.
 * @param now a monotonic clock in ms.
 * @param maxStepMs the longest step for which an offer waits.
 */
export function createLaneOffers(
  wake: (waiver: Uint8Array) => void,
  now: () => number = () => performance.now(),
  maxStepMs: number = MAX_STEP_MS,
): LaneOffers {
  const byWaiver = new Map<string, OffersOfLane>();
  const laneOf = (waiver: Uint8Array) => {
    const name = bytesToHex(waiver);
    const lane = byWaiver.get(name) ?? newLane();
    byWaiver.set(name, lane);
    return lane;
  };
  return {
    async offer(newSubmissions) {
      const [first] = newSubmissions;
      const lane = first && byWaiver.get(bytesToHex(first.waiver));
      if (first === undefined || lane === undefined) return undefined;
      if (now() - lane.readyAt >= READY_MS || now() < lane.pausedUntil) return undefined;
      const senders = newSubmissions.map(({ sender }) => bytesToHex(sender));
      if (!mayTake(lane, first, newSubmissions, senders)) return undefined;
      return new Promise((resolve, reject) => {
        for (const sender of senders) lane.senders.add(sender);
        lane.queue.add([first.keyId, senders[0] ?? ""], {
          newSubmissions,
          senders,
          accept() {
            lane.pauses = 0;
            resolve(newSubmissions.map(({ waiver }) => ({ kind: "accepted", waiver, isSigned: true })));
          },
          decline: () => resolve(undefined),
          fail: reject,
        });
        count(lane, first.keyId, newSubmissions.length);
        lane.timer ??= declineLater(lane, maxStepMs);
        wake(first.waiver);
      });
    },
    has: (waiver) => byWaiver.get(bytesToHex(waiver))?.queue.isEmpty === false,
    take(waiver, shareOfKey) {
      const lane = byWaiver.get(bytesToHex(waiver));
      if (lane === undefined || lane.queue.isEmpty) return [];
      lane.shareOfKey = shareOfKey(MAX_TAKEN);
      const taken = takeOf(lane, MAX_TAKEN, lane.shareOfKey);
      clearTimeout(lane.timer);
      lane.timer = lane.queue.isEmpty ? undefined : declineLater(lane, maxStepMs);
      return taken;
    },
    setReady(waiver, isReady, hasInFlight = () => false) {
      const lane = laneOf(waiver);
      lane.hasInFlight = hasInFlight;
      if (isReady) lane.readyAt = now();
      else declineAll(lane);
    },
    pause(waiver) {
      const lane = laneOf(waiver);
      lane.pausedUntil = now() + Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** lane.pauses++);
      declineAll(lane);
    },
  };
}

function newLane(): OffersOfLane {
  return {
    queue: new FairQueue(),
    senders: new Set(),
    hasInFlight: () => false,
    readyAt: Number.NEGATIVE_INFINITY,
    pausedUntil: Number.NEGATIVE_INFINITY,
    pauses: 0,
    waitingOfKey: new Map(),
    shareOfKey: MAX_TAKEN,
    timer: undefined,
  };
}

/** Declines all that waits if the step under way takes too long. */
function declineLater(lane: OffersOfLane, maxStepMs: number): NodeJS.Timeout {
  return setTimeout(() => declineAll(lane), maxStepMs);
}

/** Declines all that waits, and what comes before the next step ends. */
function declineAll(lane: OffersOfLane): void {
  lane.readyAt = Number.NEGATIVE_INFINITY;
  clearTimeout(lane.timer);
  lane.timer = undefined;
  for (const offer of takeOf(lane, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)) offer.decline();
}

/** Counts new submissions that begin to wait, or with a negative number end. */
function count({ waitingOfKey }: OffersOfLane, keyId: string, submissions: number): void {
  const ofKey = (waitingOfKey.get(keyId) ?? 0) + submissions;
  if (ofKey === 0) waitingOfKey.delete(keyId);
  else waitingOfKey.set(keyId, ofKey);
}

/**
 * Whether a step can take a whole request soon: a small request with one waiver, behind few offers, from senders with
 * nothing else on the way.
 */
function mayTake(
  lane: OffersOfLane,
  { keyId, waiver }: NewSubmission,
  newSubmissions: readonly NewSubmission[],
  senders: readonly string[],
): boolean {
  const { length } = newSubmissions;
  const ofKey = lane.waitingOfKey.get(keyId) ?? 0;
  if (length > MAX_TAKEN || lane.senders.size + length > MAX_STEPS * MAX_TAKEN) return false;
  if (ofKey > 0 && ofKey + length > MAX_STEPS * lane.shareOfKey) return false;
  return (
    new Set(senders).size === length &&
    !senders.some((sender) => lane.senders.has(sender)) &&
    newSubmissions.every((one) => bytesEqual(one.waiver, waiver) && !lane.hasInFlight(one.sender))
  );
}

/**
 * Takes requests out, until they have enough.
 * @param most the most new submissions.
 * @param ofKey the most of one API key, but for its first request.
 */
function takeOf(lane: OffersOfLane, most: number, ofKey: number): LaneOffer[] {
  const taken: LaneOffer[] = [];
  const sizes = new Map<string, number>();
  let size = 0;
  const sizeOf = (key: string) => sizes.get(key) ?? 0;
  const fits = (offer: LaneOffer) => {
    const { length } = offer.newSubmissions;
    const ofItsKey = sizeOf(keyIdOf(offer));
    return size + length <= most && (ofItsKey === 0 || ofItsKey + length <= ofKey);
  };
  for (let next = lane.queue.take(fits); next !== undefined; next = lane.queue.take(fits)) {
    taken.push(next);
    size += next.newSubmissions.length;
    const key = keyIdOf(next);
    count(lane, key, -next.newSubmissions.length);
    sizes.set(key, sizeOf(key) + next.newSubmissions.length);
    for (const sender of next.senders) lane.senders.delete(sender);
  }
  return taken;
}
