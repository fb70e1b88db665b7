import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import type { Results } from "../../results/results.js";
import { type HeldLane, LeaseLostError } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { Store } from "../../store/store.js";
import { saveBroadcast } from "../../store/transitions/saveBroadcast.js";
import { Turns } from "../../util/turns.js";

/** A wrapper that a node has taken. The hash names the bytes, since a submission may be signed anew later. */
export type BufferedBroadcast = Pick<InFlightSubmission, "id" | "wrapperHash" | "origin">;

/**
 * The wrappers that a node has taken and the store does not know as broadcast yet. Result lines on this replica are
 * sent as soon as the node accepts the wrapper (D16); the database write follows. Until then the store has them as
 * `signed`, so that the same bytes go out again if anything fails in between.
 *
 * The clients of another replica learn from the store, so what it accepted is written within milliseconds. What this replica
 * accepted waits for its block for a while: the write of the inclusion makes that of the broadcast needless.
 */
export interface BroadcastBuffer {
  /** Adds wrappers that a node has taken, and notifies the result lines on this replica. */
  add(held: HeldLane, wrappers: readonly BufferedBroadcast[]): void;
  /**
   * Runs a write that moves these submissions beyond `broadcast`. It receives the times in ms since nodes took their
   * wrappers, as far as the store does not know.
   */
  storeBeyond<T>(
    held: HeldLane,
    ids: readonly string[],
    write: (agesMs: ReadonlyMap<string, number>) => Promise<T>,
  ): Promise<T>;
  /**
   * Returns the submissions whose broadcasts the store may not have yet. A reader who asks the store afterwards misses no
   * broadcast: each is in the answer or in the store.
   */
  unstored(): ReadonlySet<string>;
  /**
   * Stores all that is buffered. A client that has its line may ask for the record next. Never rejects.
   * @param waiver the lane's; of all lanes if undefined.
   */
  flush(waiver?: Uint8Array): Promise<void>;
  close(): void;
}

export interface BroadcastBufferDependencies {
  readonly store: Store;
  readonly results: Pick<Results, "notifyHere" | "publish">;
  readonly log: Logger;
  /** The name of this replica. */
  readonly replica: string;
  /** The time in ms that a wrapper waits for others, if another replica accepted the submission. */
  readonly flushDelayMs?: number;
  /** The time in ms that a wrapper of this replica's submission waits for its block. */
  readonly blockWaitMs?: number;
}

const FLUSH_DELAY_MS = 6;
const BLOCK_WAIT_MS = 1_000;
const RETRY_MS = 250;
const BROADCAST = { state: "broadcast" } as const;

interface Taken extends BufferedBroadcast {
  readonly held: HeldLane;
  /** In ms of a monotonic clock. */
  readonly takenAt: number;
  readonly dueAt: number;
}

export function createBroadcastBuffer(dependencies: BroadcastBufferDependencies): BroadcastBuffer {
  const { results, replica, flushDelayMs = FLUSH_DELAY_MS, blockWaitMs = BLOCK_WAIT_MS } = dependencies;
  const buffered = new Map<string, Taken>();
  const { flush, storeBeyond } = createWriter(buffered, dependencies);
  const flushDue = async () => {
    const now = performance.now();
    await flush(({ dueAt }) => dueAt <= now);
    for (const { dueAt } of buffered.values()) timer.start(dueAt <= now ? now + RETRY_MS : dueAt);
  };
  const timer = createEarliestTimer(() => void flushDue());
  return {
    add(held, wrappers) {
      const takenAt = performance.now();
      for (const { id, wrapperHash, origin } of wrappers) {
        const dueAt = dueAfter(takenAt, origin === replica ? blockWaitMs : flushDelayMs);
        buffered.set(id, { id, wrapperHash, origin, held, takenAt, dueAt });
        timer.start(dueAt);
        results.notifyHere(id, BROADCAST);
      }
    },
    storeBeyond,
    unstored: () => new Set(buffered.keys()),
    flush: (waiver) => flush(({ held }) => waiver === undefined || bytesEqual(held.waiver, waiver)),
    close: timer.close,
  };
}

/** Writes what is buffered. A wrapper leaves the buffer once a write that has it has succeeded. */
function createWriter(
  buffered: Map<string, Taken>,
  { store, results, log }: Pick<BroadcastBufferDependencies, "store" | "results" | "log">,
) {
  const inTurn = createLaneTurns();
  const remove = (stored: readonly Taken[]) => {
    // A later wrapper of the submission stays.
    for (const one of stored) if (buffered.get(one.id) === one) buffered.delete(one.id);
  };
  const writeLane = async (waiver: Uint8Array, isMeant: (one: Taken) => boolean) => {
    const isOfLane = ({ held }: Taken) => bytesEqual(held.waiver, waiver);
    const entries = [...buffered.values()].filter((one) => isOfLane(one) && isMeant(one));
    const held = latestOf(entries);
    if (held === undefined) return;
    try {
      const saved = await saveBroadcast(store, held, entries.map(withAge));
      remove(entries);
      // Lines on this replica get the update a second time, those on other replicas for the first time.
      results.publish(saved, () => BROADCAST);
    } catch (error) {
      // The lane's next owner finds these wrappers signed, and sends them again.
      if (error instanceof LeaseLostError) remove(entries);
      log.debug({ err: (error as Error).message }, "broadcast wrappers could not be stored yet");
    }
  };
  return {
    /** Writes entries, each lane's in a write of its own. Never rejects. */
    async flush(isMeant: (one: Taken) => boolean): Promise<void> {
      const meant = [...buffered.values()].filter(isMeant);
      const waivers = new Map(meant.map(({ held: { waiver } }) => [bytesToHex(waiver), waiver]));
      const write = (waiver: Uint8Array) => inTurn(waiver, () => writeLane(waiver, isMeant));
      await Promise.all([...waivers.values()].map(write));
    },
    storeBeyond: <T>(
      held: HeldLane,
      ids: readonly string[],
      write: (agesMs: ReadonlyMap<string, number>) => Promise<T>,
    ): Promise<T> =>
      inTurn(held.waiver, async () => {
        const entries = ids.flatMap((id) => buffered.get(id) ?? []);
        const saved = await write(new Map(entries.map((one) => [one.id, withAge(one).ageMs])));
        remove(entries);
        return saved;
      }),
  };
}

/** Times fall on a grid of half the wait, so that those of some time are written together. */
function dueAfter(takenAt: number, waitMs: number): number {
  const grid = waitMs / 2;
  return grid * Math.ceil((takenAt + waitMs) / grid);
}

function withAge({ id, wrapperHash, takenAt }: Taken) {
  return { id, wrapperHash, ageMs: performance.now() - takenAt };
}

/** The latest lease of the lane writes for the earlier ones of this process: a late answer of a node is still true. */
function latestOf(entries: readonly Taken[]): HeldLane | undefined {
  return entries.map(({ held }) => held).sort((a, b) => Number(b.epoch - a.epoch))[0];
}

/** Runs the writes of each lane one after the other: two that lock the same rows in another order would be a deadlock. */
function createLaneTurns() {
  const byWaiver = new Map<string, Turns>();
  return <T>(waiver: Uint8Array, write: () => Promise<T>): Promise<T> => {
    const name = bytesToHex(waiver);
    const turns = byWaiver.get(name) ?? new Turns();
    byWaiver.set(name, turns);
    return turns.run(write);
  };
}

/** Runs at the earliest of the times that it was started with since it last ran. */
function createEarliestTimer(run: () => void) {
  let runsAt = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  return {
    /** @param at by the monotonic clock in ms. */
    start(at: number): void {
      if (closed || at >= runsAt) return;
      clearTimeout(timer);
      runsAt = at;
      timer = setTimeout(() => {
        runsAt = Number.POSITIVE_INFINITY;
        run();
      }, at - performance.now()).unref();
    },
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}
