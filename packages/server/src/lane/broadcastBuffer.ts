import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../model/log.js";
import type { Results } from "../results/results.js";
import { type ChangedSubmission, type HeldLane, LeaseLostError } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";
import type { Store } from "../store/store.js";
import { saveBroadcast } from "../store/transitions/saveBroadcast.js";

/** A wrapper that a node has taken. The hash names the bytes, since a submission may be signed anew later. */
export type BufferedBroadcast = Pick<InFlightSubmission, "id" | "wrapperHash">;

/**
 * The wrappers that a node has taken and the store does not know as broadcast yet. Result lines on this replica are
 * sent as soon as the node accepts the wrapper (D16); the database write follows. Until then the store has them as
 * `signed`, so that the same bytes go out again if anything fails in between.
 */
export interface BroadcastBuffer {
  /** Adds wrappers that a node has taken, and notifies the result lines on this replica. */
  add(held: HeldLane, wrappers: readonly BufferedBroadcast[]): void;
  /**
   * Runs a write of the lane that stores the lane's buffered wrappers as well, which saves a write of their own. If the
   * write fails, they stay in the buffer, unless the lease is lost.
   */
  storeAlongside<T extends { readonly broadcast: readonly ChangedSubmission[] }>(
    held: HeldLane,
    write: (wrappers: readonly BufferedBroadcast[]) => Promise<T>,
  ): Promise<T>;
  /**
   * Stores what is buffered, and waits for the writes that `storeAlongside` has begun. A client that has its line may ask for
   * the record next. Never rejects.
   * @param waiver the lane's; of all lanes if undefined.
   */
  flush(waiver?: Uint8Array): Promise<void>;
  close(): void;
}

export interface BroadcastBufferDependencies {
  readonly store: Store;
  readonly results: Pick<Results, "notifyHere" | "publish">;
  readonly log: Logger;
  /** The longest time in ms that a wrapper waits for another write of its lane. */
  readonly flushDelayMs?: number;
}

const FLUSH_DELAY_MS = 10;
const RETRY_MS = 250;
const BROADCAST = { state: "broadcast" } as const;

interface BufferedEntry {
  readonly held: HeldLane;
  readonly wrapper: BufferedBroadcast;
}

export function createBroadcastBuffer({
  store,
  results,
  log,
  flushDelayMs = FLUSH_DELAY_MS,
}: BroadcastBufferDependencies): BroadcastBuffer {
  const buffered = createEntries();
  let writes: { readonly waiver: Uint8Array; readonly writing: Promise<unknown> }[] = [];
  const flushTimer = createFlushTimer(() => flush());
  const storeAlongside: BroadcastBuffer["storeAlongside"] = async (held, write) => {
    const entries = buffered.takeOut(held.waiver);
    const writing = write(entries.map(({ wrapper }) => wrapper));
    if (entries.length === 0) return await writing;
    writes.push({ waiver: held.waiver, writing });
    try {
      const saved = await writing;
      // Lines on this replica get the update a second time, those on other replicas for the first time.
      results.publish(saved.broadcast, () => BROADCAST);
      return saved;
    } catch (error) {
      buffered.add(error instanceof LeaseLostError ? entries.filter(isOfLaterLease(held)) : entries);
      if (!buffered.isEmpty()) flushTimer.start(RETRY_MS);
      throw error;
    } finally {
      writes = writes.filter((other) => other.writing !== writing);
    }
  };
  const flush = async (of?: Uint8Array) => {
    const isMeant = ({ waiver }: { readonly waiver: Uint8Array }) => !of || bytesEqual(waiver, of);
    const begun = writes.filter(isMeant).map(({ writing }) => writing);
    const flushes = buffered
      .leases()
      .filter(isMeant)
      .map((held) =>
        storeAlongside(held, async (wrappers) => ({ broadcast: await saveBroadcast(store, held, wrappers) })),
      );
    for (const written of await Promise.allSettled([...begun, ...flushes])) {
      if (written.status === "fulfilled") continue;
      log.debug({ err: (written.reason as Error).message }, "broadcast wrappers could not be stored yet");
    }
  };
  return {
    add(held, wrappers) {
      if (wrappers.length === 0) return;
      buffered.add(wrappers.map((wrapper) => ({ held, wrapper })));
      flushTimer.start(flushDelayMs);
      for (const { id } of wrappers) results.notifyHere(id, BROADCAST);
    },
    storeAlongside,
    flush,
    close: flushTimer.close,
  };
}

/** Flushes after the time of the first `start` since the last flush. */
function createFlushTimer(flush: () => Promise<void>) {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  return {
    start(ms: number): void {
      if (closed) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void flush();
      }, ms).unref();
    },
    close(): void {
      closed = true;
      clearTimeout(timer);
    },
  };
}

function createEntries() {
  let entries: BufferedEntry[] = [];
  return {
    isEmpty: () => entries.length === 0,
    add(added: readonly BufferedEntry[]): void {
      entries.push(...added);
    },
    /** Takes out the lane's entries, those of its earlier leases too: a late answer of a node is still true. */
    takeOut(waiver: Uint8Array): BufferedEntry[] {
      const isOfLane = ({ held }: BufferedEntry) => bytesEqual(held.waiver, waiver);
      const ofLane = entries.filter(isOfLane);
      if (ofLane.length > 0) entries = entries.filter((entry) => !isOfLane(entry));
      return ofLane;
    },
    /** Returns the latest lease of each lane, which writes for its earlier ones. */
    leases(): HeldLane[] {
      const oldestFirst = entries.map(({ held }) => held).sort((a, b) => Number(a.epoch - b.epoch));
      return [...new Map(oldestFirst.map((held) => [bytesToHex(held.waiver), held])).values()];
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
