import { bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { LaneSnapshot, QueuedSender, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { AcceptedSubmission, TakenWork } from "./acceptedWork.js";

/**
 * Remembers a lane's nonces after its last step, and that the step left the queue empty. The next step then takes newly
 * accepted submissions without reading the queue. The memory is a hint: the write of the step moves only submissions that
 * are queued in the lane and were never signed, and the store gives no nonce twice.
 */
export interface LaneMemory {
  /** The waiver's next nonce, as a node told it last. */
  waiverNonce: bigint;
  /** Begins a step. What was remembered is forgotten until the step ends well. */
  begin(held: HeldLane): StepMemory;
  /** Whether something of the sender was signed lately: only the store knows its turn. */
  hasInFlight(sender: Uint8Array): boolean;
  /** Something else than this replica's accepted submissions may have changed the queue or the nonces. */
  forget(): void;
}

export interface StepMemory {
  /** Whether {@link snapshotOf} can do without the store. */
  readonly mayRemember: boolean;
  /**
   * Returns the snapshot that the store would show.
   * @param limit the most submissions.
   * @param places the most submissions in flight of one sender. The snapshot does not count the places of each sender, so
   *   the whole lane has at most as many in flight.
   * @returns undefined if the store has to be read.
   */
  snapshotOf(work: Omit<TakenWork, "nonces">, limit: number, places: number): LaneSnapshot | undefined;
  /**
   * Remembers the lane after a step.
   * @param snapshot the one that the step went by.
   * @param signed what it has signed and stored.
   */
  end(snapshot: LaneSnapshot, signed: readonly SignedNonce[]): void;
  /** Whether the next step can do without the queue. */
  readonly isKnown: boolean;
}

interface SignedNonce {
  readonly sender: Uint8Array;
  readonly waiverNonce: bigint;
}

interface KnownLane {
  readonly epoch: bigint;
  /** The time of the last reading of the store, in ms of a monotonic clock. */
  readonly readAt: number;
  readonly nonces: Pick<LaneSnapshot, "assigned" | "inFlight" | "nextAfterIncluded">;
  /** The ids that the last reading has shown: the accepted submissions may have these too. */
  readonly shown: ReadonlySet<string>;
}

/** The store is read at least this often, in ms. */
const MAX_AGE_MS = 250;

/** @param now a monotonic clock in ms. */
export function createLaneMemory(now: () => number = () => performance.now()): LaneMemory {
  let known: KnownLane | undefined;
  let changes = 0;
  const inFlight = createRecentSenders(now);
  return {
    waiverNonce: 0n,
    begin({ epoch }) {
      const startedAt = now();
      const changesBefore = changes;
      const last = known?.epoch === epoch && startedAt - known.readAt < MAX_AGE_MS ? known : undefined;
      known = undefined;
      let isFromMemory = false;
      return {
        mayRemember: last !== undefined,
        snapshotOf({ submissions, isIncomplete }, limit, places) {
          if (last === undefined || isIncomplete) return undefined;
          const fresh = submissions.filter(({ id }) => !last.shown.has(id));
          const most = Math.min(limit, places - last.nonces.inFlight);
          if (fresh.length === 0 || fresh.length > most) return undefined;
          // The chain counts a nonce in flight with the next block: until then only the store knows the sender's turn.
          if (fresh.some(({ sender }) => inFlight.has(sender))) return undefined;
          isFromMemory = true;
          return snapshotOf(last, fresh, startedAt);
        },
        end(snapshot, signed) {
          for (const { sender } of signed) inFlight.add(sender);
          const shown = snapshot.senders.flatMap(({ queued }) => queued.map(({ id }) => id));
          const isEmpty = snapshot.isWhole && signed.length === shown.length;
          if (!isEmpty || changes !== changesBefore) return;
          const reading = isFromMemory && last ? last : { readAt: startedAt, shown: new Set(shown) };
          known = { ...reading, epoch, nonces: withSigned(snapshot, signed) };
        },
        get isKnown() {
          return known !== undefined;
        },
      };
    },
    hasInFlight: inFlight.has,
    forget() {
      changes++;
      known = undefined;
    },
  };
}

function snapshotOf(
  { nonces }: KnownLane,
  submissions: readonly AcceptedSubmission[],
  now: number,
): LaneSnapshot {
  const bySender = new Map<string, { readonly sender: Uint8Array; readonly row: AcceptedSubmission[] }>();
  for (const one of submissions) {
    const senderHex = bytesToHex(one.sender);
    const found = bySender.get(senderHex) ?? { sender: one.sender, row: [] };
    bySender.set(senderHex, found);
    found.row.push(one);
  }
  let position = 0;
  const senders = [...bySender.values()].map(({ sender, row }): QueuedSender => {
    // The waiver nonces follow the positions, and no nonce of a sender may come after a later one.
    const inOrder = row.sort((a, b) => (a.senderNonce < b.senderNonce ? -1 : 1));
    // Each field by name: a copy of the rest takes a hundred times as long.
    const queued = inOrder.map(
      (one): QueuedSubmission => ({
        id: one.id,
        keyId: one.keyId,
        innerRaw: one.innerRaw,
        innerHash: one.innerHash,
        sender: one.sender,
        senderNonce: one.senderNonce,
        signings: 0,
        strikes: 0,
        position: position++,
        ageMs: now - one.acceptedAt,
        isSetAside: false,
        isWaiting: false,
      }),
    );
    return { sender, queued, inFlightNonces: new Set() };
  });
  const keyIds = submissions.map(({ keyId }) => keyId).sort();
  return {
    ...nonces,
    isWhole: true,
    ready: submissions.length,
    hasMoreReady: false,
    keyIds: [keyIds[0] ?? "", keyIds.at(-1) ?? ""],
    due: 0,
    inFlightOfKeys: new Map(keyIds.map((key) => [key, 0])),
    senders,
  };
}

/** The nonces with those of a step. What blocks have taken meanwhile stays counted until the store is read again. */
function withSigned(
  { assigned, inFlight, nextAfterIncluded }: LaneSnapshot,
  signed: readonly SignedNonce[],
): KnownLane["nonces"] {
  const nonces = signed.map(({ waiverNonce }) => waiverNonce);
  const all = assigned.count > 0 ? [assigned.lowest, assigned.highest, ...nonces] : nonces;
  const [first = 0n] = all;
  return {
    assigned: {
      count: assigned.count + nonces.length,
      lowest: all.reduce((a, b) => (a < b ? a : b), first),
      highest: all.reduce((a, b) => (a > b ? a : b), first),
    },
    inFlight: inFlight + nonces.length,
    nextAfterIncluded,
  };
}

/** Senders count as recent for between one and two of these times, in ms: a wrapper is in a block by then, or the chain is slow. */
const GENERATION_MS = 2_000;

/** The senders of whom something was signed lately. */
function createRecentSenders(now: () => number) {
  let current = new Set<string>();
  let previous = new Set<string>();
  let begunAt = now();
  const turn = () => {
    if (now() - begunAt < GENERATION_MS) return;
    previous = now() - begunAt < 2 * GENERATION_MS ? current : new Set();
    current = new Set();
    begunAt = now();
  };
  return {
    has(sender: Uint8Array): boolean {
      turn();
      const name = bytesToHex(sender);
      return current.has(name) || previous.has(name);
    },
    add(sender: Uint8Array): void {
      turn();
      current.add(bytesToHex(sender));
    },
  };
}
