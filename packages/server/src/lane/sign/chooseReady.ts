import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneSnapshot, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { Retries } from "../inbox/retryPace.js";
import type { SenderPlan } from "./plan.js";

/** The room that a step has. */
export interface Room {
  /** The number of wrappers that may be signed now. */
  readonly all: number;
  /** The number of these that one sender may have. */
  readonly ofSender: number;
  /** The number of these that one API key may have; infinite while one key uses the lane. */
  readonly ofKey: number;
  /** Tells the submissions that were set aside before. It bounds the number of those with such a sender. */
  readonly retries: Retries;
  /** Whether blocks have left out wrappers of the submission, or of its sender. */
  isStruck(submission: QueuedSubmission): boolean;
  /** The most of these that may be signed now. */
  readonly mostStruck: number;
  /** The most submissions that are in flight in the lane. */
  readonly maxInFlight: number;
}

export interface ChosenReady {
  /** The ready submissions that the step signs, in their order. */
  readonly chosen: readonly QueuedSubmission[];
  /** Some had to stay behind for the share of their sender or key, or for want of room; not for that of retries. */
  readonly hasMore: boolean;
  /** A sender or key had at least as much as its share. */
  readonly hasHeavy: boolean;
  /** A sender had less than its share, and so had its key. */
  readonly hasLight: boolean;
}

/**
 * The part of a lane's places in flight that each API key leaves to other keys, and each sender of a key to its other
 * senders. Without it, a single long row would fill the lane, and everybody else would wait for a block.
 */
export const RESERVED = 1 / 40;

/** The most places in flight that one sender has, and one API key. */
export function placesIn(maxInFlight: number): { readonly ofSender: number; readonly ofKey: number } {
  const reserve = Math.floor(maxInFlight * RESERVED);
  return { ofSender: maxInFlight - 2 * reserve, ofKey: maxInFlight - reserve };
}

/**
 * Chooses ready submissions in the turns of the API keys, up to the share of each sender and each key. Senders with a
 * submission that was signed before come later, then senders with a retry: if a node refuses the retry again, no other
 * wrapper of the step has a nonce above it. What blocks have left out comes last of all.
 */
export function chooseReady(
  plans: readonly SenderPlan[],
  { senders, inFlightOfKeys }: Pick<LaneSnapshot, "senders" | "inFlightOfKeys">,
  room: Room,
): ChosenReady {
  const places = placesIn(room.maxInFlight);
  const shares = plans.map(({ ready }, i) => {
    const inFlight = senders[i]?.inFlightNonces.size ?? 0;
    return ready.slice(0, Math.max(0, Math.min(room.ofSender, places.ofSender - inFlight)));
  });
  const takenOfKey = new Map<string, number>();
  // A sender's nonces wait for an earlier nonce of the sender that found no place, under any key.
  const withoutPlace = new Set<string>();
  const takePlace = ({ keyId, sender }: QueuedSubmission) => {
    const taken = takenOfKey.get(keyId) ?? 0;
    const isFull = taken + (inFlightOfKeys.get(keyId) ?? 0) >= places.ofKey;
    if (isFull) withoutPlace.add(bytesToHex(sender));
    if (withoutPlace.size > 0 && withoutPlace.has(bytesToHex(sender))) return false;
    takenOfKey.set(keyId, taken + 1);
    return true;
  };
  const { others, retries, struck } = inOrder(plans, shares, room);
  const mostRetries = room.retries.mostNow;
  const heldBack = Math.max(0, retries.length - mostRetries) + Math.max(0, struck.length - room.mostStruck);
  const inTurns = [...others, ...retries.slice(0, mostRetries), ...struck.slice(0, room.mostStruck)];
  const chosen = inTurns.filter(takePlace).slice(0, room.all);
  const isHeavyKey = (keyId: string) => (takenOfKey.get(keyId) ?? 0) >= room.ofKey;
  const isHeavy = (plan: SenderPlan) => plan.ready.length > room.ofSender;
  const isLight = (plan: SenderPlan) =>
    plan.ready[0] !== undefined && !isHeavy(plan) && !isHeavyKey(plan.ready[0].keyId);
  return {
    chosen,
    hasMore: chosen.length + heldBack < plans.reduce((sum, { ready }) => sum + ready.length, 0),
    hasHeavy: plans.some(isHeavy) || [...takenOfKey.keys()].some(isHeavyKey),
    hasLight: plans.some(isLight),
  };
}

interface InOrder {
  readonly others: readonly QueuedSubmission[];
  readonly retries: readonly QueuedSubmission[];
  readonly struck: readonly QueuedSubmission[];
}

/** @param shares the submissions that each plan may have. */
function inOrder(
  plans: readonly SenderPlan[],
  shares: readonly (readonly QueuedSubmission[])[],
  { retries: { isRetry }, isStruck }: Room,
): InOrder {
  const groups = plans.map(({ ready }) => {
    if (ready.some(isStruck)) return "struck";
    if (ready.some(({ id }) => isRetry(id))) return "retry";
    return ready.some(({ signings }) => signings > 0) ? "signed before" : "new";
  });
  const inTurn = (group: (typeof groups)[number]) =>
    shares
      .filter((_, i) => groups[i] === group)
      .flat()
      .sort((a, b) => a.position - b.position);
  return {
    others: [...inTurn("new"), ...inTurn("signed before")],
    retries: inTurn("retry"),
    struck: inTurn("struck"),
  };
}
