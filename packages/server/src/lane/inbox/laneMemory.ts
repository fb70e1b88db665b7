import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { LaneNonces } from "../../store/lanes/queue/laneSnapshot.js";

/**
 * Remembers a lane's nonces after its last step, and that the step left the queue empty. The next step then takes offers without
 * reading the queue. The memory is a hint: the store gives no nonce twice.
 */
export type LaneMemory = ReturnType<typeof createLaneMemory>;

interface SignedNonce {
  readonly sender: Uint8Array;
  readonly waiverNonce: bigint;
  /** The places in flight that it takes. */
  readonly slots: number;
}

interface KnownLane {
  readonly epoch: bigint;
  /** The time of the last reading of the store, in ms of a monotonic clock. */
  readonly readAt: number;
  readonly nonces: LaneNonces;
}

/** The store is read at least this often, in ms. */
const MAX_AGE_MS = 250;

/** @param now a monotonic clock in ms. */
export function createLaneMemory(now: () => number = () => performance.now()) {
  let known: KnownLane | undefined;
  let changes = 0;
  const inFlight = createRecentSenders(now);
  return {
    /** The waiver's next nonce, as a node told it last. */
    waiverNonce: 0n,
    /** Begins a step. What was remembered is forgotten until the step ends well. */
    begin({ epoch }: HeldLane) {
      const startedAt = now();
      const changesBefore = changes;
      const last = known?.epoch === epoch && startedAt - known.readAt < MAX_AGE_MS ? known : undefined;
      known = undefined;
      const note = (signed: readonly SignedNonce[]) => {
        for (const { sender } of signed) inFlight.add(sender);
      };
      const remember = (nonces: LaneNonces, signed: readonly SignedNonce[], readAt: number) => {
        if (changes === changesBefore) known = { epoch, readAt, nonces: withSigned(nonces, signed) };
      };
      return {
        /** The lane's nonces, if the lane knows its queue as empty. */
        nonces: last?.nonces,
        /** Remembers what the step has read, and has signed and stored. `isEmpty`: it has left nothing in the queue. */
        endReading(
          { isEmpty, ...nonces }: LaneNonces & { readonly isEmpty: boolean },
          signed: readonly SignedNonce[],
        ) {
          note(signed);
          if (isEmpty) remember(nonces, signed, startedAt);
        },
        /** Remembers what the step has signed and stored of what was offered. */
        endOffers(signed: readonly SignedNonce[]) {
          note(signed);
          if (last) remember(last.nonces, signed, last.readAt);
        },
      };
    },
    /** Whether something of the sender was signed lately: only the store knows its turn. */
    hasInFlight: inFlight.has,
    /** Something else than an offer may have changed the queue or the nonces. */
    forget() {
      changes++;
      known = undefined;
    },
  };
}

/** The nonces with those of a step. What blocks have taken meanwhile stays counted until the store is read again. */
function withSigned(
  { assigned, inFlight, nextAfterIncluded }: LaneNonces,
  signed: readonly SignedNonce[],
): LaneNonces {
  const nonces = signed.map(({ waiverNonce }) => waiverNonce);
  const all = assigned.count > 0 ? [assigned.lowest, assigned.highest, ...nonces] : nonces;
  const [first = 0n] = all;
  return {
    assigned: {
      count: assigned.count + nonces.length,
      lowest: all.reduce((a, b) => (a < b ? a : b), first),
      highest: all.reduce((a, b) => (a > b ? a : b), first),
    },
    inFlight: signed.reduce((sum, { slots }) => sum + slots, inFlight),
    nextAfterIncluded,
  };
}

/** Senders count as recent for this time, in ms: a wrapper is in a block by then, or the chain is slow. */
const RECENT_MS = 3_000;

/** The senders of whom something was signed lately. */
function createRecentSenders(now: () => number) {
  /** The oldest first. */
  const signedAt = new Map<string, number>();
  return {
    has: (sender: Uint8Array) =>
      now() - (signedAt.get(bytesToHex(sender)) ?? Number.NEGATIVE_INFINITY) < RECENT_MS,
    add(sender: Uint8Array): void {
      const name = bytesToHex(sender);
      signedAt.delete(name);
      signedAt.set(name, now());
      for (const [oldest, at] of signedAt) {
        if (now() - at < RECENT_MS) break;
        signedAt.delete(oldest);
      }
    },
  };
}
