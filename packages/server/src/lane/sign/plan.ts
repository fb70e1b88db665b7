import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneSnapshot, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { Retries } from "../inbox/retries.js";

/** The next step of each queued submission of one sender (D20). */
export interface SenderPlan {
  /** Submissions to send now, in the order of the sender's nonces. */
  readonly ready: readonly QueuedSubmission[];
  /** Submissions whose nonce is used: by themselves, or by another transaction. The chain tells which. */
  readonly late: readonly QueuedSubmission[];
  /** Submissions ahead of their turn. */
  readonly early: readonly QueuedSubmission[];
  /** Submissions that waited too long for the one before them. */
  readonly failed: readonly GapFailure[];
}

/** A submission that fails for a nonce of its sender that nothing has. */
export interface GapFailure {
  readonly submission: QueuedSubmission;
  readonly missing: bigint;
}

/**
 * Plans the submissions that one sender has queued.
 * @param queued in the order of the sender's nonces.
 * @param next the account's next nonce on the chain.
 * @param inFlight the sender's nonces that are signed or broadcast.
 */
export function planSender(
  queued: readonly QueuedSubmission[],
  next: bigint,
  inFlight: ReadonlySet<bigint>,
  nonceGapTimeoutMs: number,
): SenderPlan {
  const ready: QueuedSubmission[] = [];
  const late: QueuedSubmission[] = [];
  const early: QueuedSubmission[] = [];
  const failed: GapFailure[] = [];
  const skipInFlight = (nonce: bigint) => {
    let turn = nonce;
    while (inFlight.has(turn)) turn++;
    return turn;
  };
  let turn = skipInFlight(next);
  let waitsForOwn = false;
  for (const submission of queued) {
    const { senderNonce, ageMs, isSetAside } = submission;
    if (senderNonce < next) {
      late.push(submission);
    } else if (senderNonce === turn && isSetAside) {
      // The submission is ready again after its pause, and the sender's later ones wait until then.
      waitsForOwn = true;
    } else if (senderNonce === turn) {
      ready.push(submission);
      turn = skipInFlight(turn + 1n);
    } else if (waitsForOwn || ageMs < nonceGapTimeoutMs) {
      early.push(submission);
    } else {
      failed.push({ submission, missing: turn });
    }
  }
  return { ready, late, early, failed };
}

/** The room that a step has. */
export interface Room {
  /** The places in flight that may be filled now, of which the last one chosen may take more than are left. */
  readonly all: number;
  /** The number of these that one sender may have. */
  readonly ofSender: number;
  /** The number of these that one API key may have. */
  readonly ofKey: number;
  /** Tells the submissions that were set aside before. It bounds the number of those with such a sender. */
  readonly retries: Pick<Retries, "mostNow" | "isRetry">;
  /** Whether blocks have left out wrappers of the submission, or of its sender. */
  isStruck(submission: QueuedSubmission): boolean;
  /** Whether a block has had a wrapper of the sender, where one more that blocks leave out would hold up everybody. */
  isPreferred(submission: QueuedSubmission): boolean;
  /** The most struck ones that may be signed now. */
  readonly mostStruck: number;
  /** The most submissions that are in flight in the lane. */
  readonly maxInFlight: number;
}

export interface ChosenReady {
  /** The ready submissions that the step signs, in their order. */
  readonly chosen: readonly QueuedSubmission[];
  /** Some had to stay behind for the share of their sender or key, or for want of room; not for that of retries. */
  readonly hasMore: boolean;
  /** Blocks have left these out before, and there are enough such wrappers for now. */
  readonly struckLeft: readonly QueuedSubmission[];
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
 * Chooses ready submissions in their order, up to the share of each sender and each key. Senders with a submission that was signed
 * before come later, then senders with a retry: if a node refuses the retry again, no other wrapper of the step has a nonce above
 * it. What blocks have left out comes last of all.
 */
export function chooseReady(
  plans: readonly SenderPlan[],
  { senders, inFlightOfKeys }: Pick<LaneSnapshot, "senders" | "inFlightOfKeys">,
  room: Room,
): ChosenReady {
  const places = placesIn(room.maxInFlight);
  const inFlightOf = new Map<string, number>(senders.map((one) => [bytesToHex(one.sender), one.inFlight]));
  const ofKey = createShares((keyId) => inFlightOfKeys.get(keyId) ?? 0, places.ofKey, room.ofKey);
  const ofSender = createShares((sender) => inFlightOf.get(sender) ?? 0, places.ofSender, room.ofSender);
  let left = room.all;
  const takePlace = ({ keyId, sender: bytes, slots }: QueuedSubmission) => {
    const sender = bytesToHex(bytes);
    if (left > 0 && ofSender.hasRoom(sender, slots) && ofKey.hasRoom(keyId, slots)) {
      left -= slots;
      ofKey.take(keyId, slots);
      ofSender.take(sender, slots);
      return true;
    }
    // The sender's later nonces wait for this one, under any key.
    ofSender.close(sender);
    return false;
  };
  const { others, retries, struck } = inOrder(plans, room);
  const mostRetries = room.retries.mostNow;
  const struckLeft = struck.slice(room.mostStruck);
  const heldBack = Math.max(0, retries.length - mostRetries) + struckLeft.length;
  const next = [...others, ...retries.slice(0, mostRetries), ...struck.slice(0, room.mostStruck)];
  const chosen = next.filter(takePlace);
  const ready = plans.reduce((sum, plan) => sum + plan.ready.length, 0);
  return { chosen, hasMore: chosen.length + heldBack < ready, struckLeft };
}

/**
 * Counts the places that parties take of their shares. The first of a party in flight, or in the step, may take more than its share:
 * it would never go otherwise.
 */
function createShares(inFlightOf: (party: string) => number, share: number, ofStep: number) {
  const taken = new Map<string, number>();
  const closed = new Set<string>();
  return {
    hasRoom: (party: string, slots: number) => {
      const [before, now] = [inFlightOf(party), taken.get(party) ?? 0];
      if (closed.has(party) || (now > 0 && now + slots > ofStep)) return false;
      return before + now === 0 || before + now + slots <= share;
    },
    take: (party: string, slots: number) => taken.set(party, (taken.get(party) ?? 0) + slots),
    close: (party: string) => closed.add(party),
  };
}

interface InOrder {
  readonly others: readonly QueuedSubmission[];
  readonly retries: readonly QueuedSubmission[];
  readonly struck: readonly QueuedSubmission[];
}

function inOrder(
  plans: readonly SenderPlan[],
  { retries: { isRetry }, isStruck, isPreferred }: Room,
): InOrder {
  const groupOf = ({ ready }: SenderPlan) => {
    if (ready.some(isStruck)) return "struck";
    if (ready.some(({ id }) => isRetry(id))) return "retry";
    if (ready.some(isPreferred)) return "preferred";
    return ready.some(({ signings }) => signings > 0) ? "signed before" : "new";
  };
  const of = (group: ReturnType<typeof groupOf>) =>
    plans
      .filter((plan) => groupOf(plan) === group)
      .flatMap(({ ready }) => ready)
      .sort((a, b) => a.position - b.position);
  const others = [...of("preferred"), ...of("new"), ...of("signed before")];
  return { others, retries: of("retry"), struck: of("struck") };
}

/** The most submissions of a key, and of a sender, in a step of a lane that others use too. */
const SHARE = 16;
/** Parties use the lane at present that it has met within this time, in ms. */
const PRESENT_MS = 1_000;

export type LaneParties = ReturnType<typeof createLaneParties>;

/**
 * The API keys and senders that use a lane at present. While there are several, each gets a share of a step, because
 * everybody waits for the step of the largest: to sign, store and send 198 submissions takes some 100 ms.
 * @param now a monotonic clock in ms.
 */
export function createLaneParties(now: () => number = () => performance.now()) {
  const keys = createPresence(now);
  const senders = createPresence(now);
  const shareOf = (parties: typeof keys) => (limit: number) =>
    parties.areSeveral() ? Math.min(limit, SHARE) : limit;
  return {
    /** Records whose submissions a step has found. */
    note(submissions: readonly Pick<QueuedSubmission, "keyId" | "sender">[]): void {
      for (const { keyId, sender } of submissions) {
        keys.note(keyId);
        senders.note(bytesToHex(sender));
      }
    },
    /** Returns the most submissions of one API key in a step of `limit`. */
    shareOfKey: shareOf(keys),
    /** Returns the most submissions of one sender in a step of `limit`. */
    shareOfSender: shareOf(senders),
  };
}

/** Tells whether several parties are present. */
function createPresence(now: () => number) {
  let last: string | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;
  /** The last time of another one. */
  let otherAt = Number.NEGATIVE_INFINITY;
  return {
    note(party: string) {
      if (party !== last) otherAt = lastAt;
      last = party;
      lastAt = now();
    },
    areSeveral: () => now() - otherAt < PRESENT_MS,
  };
}
