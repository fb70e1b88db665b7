import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import type { Results } from "../../results/results.js";
import { type ChangedSubmission, type HeldLane, LeaseLostError } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { Store } from "../../store/store.js";
import { type BroadcastWrapper, saveBroadcast } from "../../store/transitions/saveBroadcast.js";

/** A wrapper that a node has taken. The hash names the bytes, since a submission may be signed anew later. */
export type BufferedBroadcast = Pick<InFlightSubmission, "id" | "wrapperHash" | "origin">;

/**
 * The wrappers that a node has taken and the store does not know as broadcast yet. Result lines on this replica are
 * sent as soon as the node accepts the wrapper (D16); the database write follows. Until then the store has them as
 * `signed`, so that the same bytes go out again if anything fails in between.
 *
 * The clients of another replica learn from the store, so what it accepted is written at once. What this replica accepted
 * waits for its block for a while: the write of the inclusion makes that of the broadcast needless.
 */
export interface BroadcastBuffer {
  /** Adds wrappers that a node has taken, and notifies the result lines on this replica. */
  add(held: HeldLane, wrappers: readonly BufferedBroadcast[]): void;
  /**
   * Runs a write of the lane that also stores the buffered wrappers which should not wait, and so saves a separate write.
   * If the write fails, the wrappers stay in the buffer, unless the lease is lost.
   */
  storeAlongside<T extends { readonly broadcast: readonly ChangedSubmission[] }>(
    held: HeldLane,
    write: (wrappers: readonly BroadcastWrapper[]) => Promise<T>,
  ): Promise<T>;
  /**
   * Runs a write that moves these submissions beyond `broadcast`. It receives the times in ms since nodes took their
   * wrappers, as far as the store does not know. If it fails, the wrappers stay in the buffer.
   */
  storeBeyond<T>(
    ids: readonly string[],
    write: (agesMs: ReadonlyMap<string, number>) => Promise<T>,
  ): Promise<T>;
  /**
   * Returns the submissions whose broadcasts the store may not have yet. A reader who asks the store afterwards misses no
   * broadcast: each is in the answer or in the store.
   */
  unstored(): ReadonlySet<string>;
  /**
   * Stores all that is buffered, and waits for the writes that `storeAlongside` has begun. A client that has its line may ask
   * for the record next. Never rejects.
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
  /**
   * The longest wait, in ms, of a wrapper for another write of its lane, if another replica accepted the submission.
   */
  readonly flushDelayMs?: number;
  /** The time in ms that a wrapper of this replica's submission waits for its block. */
  readonly blockWaitMs?: number;
}

const FLUSH_DELAY_MS = 10;
const BLOCK_WAIT_MS = 1_000;
const RETRY_MS = 250;
const BROADCAST = { state: "broadcast" } as const;

interface BufferedEntry {
  readonly held: HeldLane;
  readonly wrapper: BufferedBroadcast;
  /** In ms of a monotonic clock. */
  readonly takenAt: number;
}

type IsMeant = (entry: BufferedEntry) => boolean;
type LaneWrite<T> = (wrappers: readonly BroadcastWrapper[]) => Promise<T>;
/** A write that stored broadcasts, and the submissions that it moved. */
type WithBroadcast = { readonly broadcast: readonly ChangedSubmission[] };

export function createBroadcastBuffer(dependencies: BroadcastBufferDependencies): BroadcastBuffer {
  const { results, replica, flushDelayMs = FLUSH_DELAY_MS, blockWaitMs = BLOCK_WAIT_MS } = dependencies;
  const dueAt = ({ wrapper, takenAt }: BufferedEntry) =>
    wrapper.origin === replica ? takenAt + blockWaitMs : takenAt;
  const isDue: IsMeant = (entry) => dueAt(entry) <= performance.now();
  const onPutBack = () => {
    flushTimer.start(RETRY_MS);
    blockTimer.start(blockWaitMs);
  };
  const buffered = createEntries(dueAt);
  const writer = createEntryWriter(buffered, dependencies, onPutBack);
  const flushTimer = createFlushTimer(() => void writer.flush(isDue));
  const blockTimer = createFlushTimer(() => {
    void writer.flush(isDue);
    // Those that came later are written together, too.
    if (!buffered.isEmpty()) blockTimer.start(blockWaitMs / 2);
  });
  return {
    add(held, wrappers) {
      if (wrappers.length === 0) return;
      const takenAt = performance.now();
      buffered.add(wrappers.map((wrapper) => ({ held, wrapper, takenAt })));
      if (wrappers.some(({ origin }) => origin !== replica)) flushTimer.start(flushDelayMs);
      blockTimer.start(blockWaitMs);
      for (const { id } of wrappers) results.notifyHere(id, BROADCAST);
    },
    // Hundreds wait for their block, and each step asks.
    storeAlongside: (held, write) =>
      writer.store(held, buffered.hasDue() ? buffered.takeOutOf(held, isDue) : [], write),
    storeBeyond: writer.storeBeyond,
    unstored: writer.unstored,
    async flush(waiver) {
      const isMeant: IsMeant = ({ held }) => !waiver || bytesEqual(held.waiver, waiver);
      await Promise.all([writer.over(isMeant), writer.flush(isMeant)]);
    },
    close() {
      flushTimer.close();
      blockTimer.close();
    },
  };
}

/**
 * Writes entries of the buffer, and puts those of a failed write back.
 * @param onPutBack called when entries are in the buffer again.
 */
function createEntryWriter(
  buffered: ReturnType<typeof createEntries>,
  { store, results, log }: BroadcastBufferDependencies,
  onPutBack: () => void,
) {
  const writes = createBegunWrites();
  const storeTaken = async <T>(entries: readonly BufferedEntry[], writing: Promise<T>, held?: HeldLane) => {
    try {
      return await writes.track(entries, writing);
    } catch (error) {
      buffered.add(held && error instanceof LeaseLostError ? entries.filter(isOfLaterLease(held)) : entries);
      if (!buffered.isEmpty()) onPutBack();
      throw error;
    }
  };
  const storeEntries = async <T extends WithBroadcast>(
    held: HeldLane,
    entries: readonly BufferedEntry[],
    write: LaneWrite<T>,
  ) => {
    const saved = await storeTaken(entries, write(entries.map(withAge)), held);
    // Lines on this replica get the update a second time, those on other replicas for the first time.
    if (entries.length > 0) results.publish(saved.broadcast, () => BROADCAST);
    return saved;
  };
  return {
    store: storeEntries,
    async storeBeyond<T>(ids: readonly string[], write: (agesMs: ReadonlyMap<string, number>) => Promise<T>) {
      const moved = new Set(ids);
      const isMeant: IsMeant = ({ wrapper }) => moved.has(wrapper.id);
      // Two writes that lock the same rows in another order would be a deadlock.
      await writes.over(isMeant);
      const entries = buffered.takeOut(isMeant);
      const agesMs = new Map(entries.map((entry) => [entry.wrapper.id, withAge(entry).ageMs]));
      return await storeTaken(entries, write(agesMs));
    },
    /** Writes entries, each lane's in a write of its own. Never rejects. */
    async flush(isMeant: IsMeant): Promise<void> {
      const flushes = buffered.leasesOf(isMeant).map((held) =>
        storeEntries(held, buffered.takeOutOf(held, isMeant), async (wrappers) => ({
          broadcast: await saveBroadcast(store, held, wrappers),
        })),
      );
      await logFailures(flushes, log);
    },
    over: writes.over,
    unstored: (): ReadonlySet<string> =>
      new Set([...buffered.all(), ...writes.entries()].map(({ wrapper }) => wrapper.id)),
  };
}

/** The writes of entries that have begun and are not over. */
function createBegunWrites() {
  const writes = new Set<{
    readonly entries: readonly BufferedEntry[];
    readonly writing: Promise<unknown>;
  }>();
  return {
    async track<T>(entries: readonly BufferedEntry[], writing: Promise<T>): Promise<T> {
      const begun = { entries, writing };
      writes.add(begun);
      try {
        return await writing;
      } finally {
        writes.delete(begun);
      }
    },
    entries: () => [...writes].flatMap(({ entries }) => entries),
    /** Resolves when the writes of such entries are over. */
    async over(isMeant: IsMeant): Promise<void> {
      const meant = [...writes].filter(({ entries }) => entries.some(isMeant));
      await Promise.allSettled(meant.map(({ writing }) => writing));
    },
  };
}

function withAge({ wrapper, takenAt }: BufferedEntry) {
  return { ...wrapper, ageMs: performance.now() - takenAt };
}

async function logFailures(writes: readonly Promise<unknown>[], log: Logger): Promise<void> {
  for (const written of await Promise.allSettled(writes)) {
    if (written.status === "fulfilled") continue;
    log.debug({ err: (written.reason as Error).message }, "broadcast wrappers could not be stored yet");
  }
}

/** Flushes after the time of the first `start` since the last flush. */
function createFlushTimer(flush: () => void) {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  return {
    start(ms: number): void {
      if (closed) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        flush();
      }, ms).unref();
    },
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** @param dueAt when an entry should wait no longer. */
function createEntries(dueAt: (entry: BufferedEntry) => number) {
  let entries: BufferedEntry[] = [];
  /** No entry is due before. */
  let firstDueAt = Number.POSITIVE_INFINITY;
  const noteDue = (entry: BufferedEntry) => {
    firstDueAt = Math.min(firstDueAt, dueAt(entry));
  };
  const takeOut = (isMeant: IsMeant): BufferedEntry[] => {
    const taken: BufferedEntry[] = [];
    const left: BufferedEntry[] = [];
    firstDueAt = Number.POSITIVE_INFINITY;
    for (const entry of entries) {
      if (isMeant(entry)) taken.push(entry);
      else {
        left.push(entry);
        noteDue(entry);
      }
    }
    entries = left;
    return taken;
  };
  return {
    isEmpty: () => entries.length === 0,
    all: (): readonly BufferedEntry[] => entries,
    /** Whether an entry may be due. */
    hasDue: () => firstDueAt <= performance.now(),
    add(added: readonly BufferedEntry[]): void {
      entries.push(...added);
      added.forEach(noteDue);
    },
    /** Takes out entries, those of a lane's earlier leases too: a late answer of a node is still true. */
    takeOut,
    /** Takes out entries of a lane. */
    takeOutOf: ({ waiver }: HeldLane, isMeant: IsMeant) =>
      takeOut((entry) => bytesEqual(entry.held.waiver, waiver) && isMeant(entry)),
    /**
     * Returns the latest lease of each lane of these entries. The latest lease writes for the earlier ones.
     */
    leasesOf(isMeant: IsMeant): HeldLane[] {
      const held = entries.filter(isMeant).map((entry) => entry.held);
      const oldestFirst = held.sort((a, b) => Number(a.epoch - b.epoch));
      return [...new Map(oldestFirst.map((one) => [bytesToHex(one.waiver), one])).values()];
    },
  };
}

/**
 * Whether an entry belongs to a later lease than the one that was lost. The next owner of a lost lease finds the
 * wrappers of this and earlier epochs signed, and sends them again.
 */
function isOfLaterLease(lost: HeldLane) {
  return ({ held: { epoch } }: BufferedEntry) => epoch > lost.epoch;
}
