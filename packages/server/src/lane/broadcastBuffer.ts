import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../model/log.js";
import type { Results } from "../results/results.js";
import { type ChangedSubmission, type HeldLane, LeaseLostError } from "../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../store/lanes/inFlight.js";
import type { Store } from "../store/store.js";
import { saveBroadcast } from "../store/transitions/saveBroadcast.js";

/** What names the bytes that a node took: a submission may be signed anew later. */
export type BufferedBroadcast = Pick<InFlightSubmission, "id" | "wrapperHash">;

/**
 * The wrappers that a node has taken, from then until the store knows. Who waits on this replica is told at once (D16).
 * To the store they are `signed` meanwhile, so whatever fails in between has the same bytes sent again.
 */
export interface BroadcastBuffer {
  /** A node has taken these. */
  add(held: HeldLane, wrappers: readonly BufferedBroadcast[]): void;
  /**
   * Runs a write of the lane that stores its delivered wrappers as well, which saves a write of their own. What fails to
   * be stored is stored later.
   */
  storeAlongside<T extends { readonly broadcast: readonly ChangedSubmission[] }>(
    held: HeldLane,
    write: (wrappers: readonly BufferedBroadcast[]) => Promise<T>,
  ): Promise<T>;
  /** Stores what is left, as far as the store can be had: who was told asks next. Never rejects. */
  flush(): Promise<void>;
  close(): void;
}

export interface BroadcastBufferDependencies {
  readonly store: Store;
  readonly results: Pick<Results, "notifyHere" | "publish">;
  readonly log: Logger;
  /** How long a delivered wrapper waits for a write to go along with. */
  readonly flushDelayMs?: number;
}

const FLUSH_DELAY_MS = 10;
/** After a failure. */
const LATER_MS = 250;
const BROADCAST = { state: "broadcast" } as const;

interface Entry {
  readonly held: HeldLane;
  readonly wrapper: BufferedBroadcast;
}

export function createBroadcastBuffer({
  store,
  results,
  log,
  flushDelayMs = FLUSH_DELAY_MS,
}: BroadcastBufferDependencies): BroadcastBuffer {
  let waiting: Entry[] = [];
  let writing: Promise<unknown>[] = [];
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const storeIn = (ms: number) => {
    if (closed) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      void storeAll();
    }, ms).unref();
  };
  /** Takes out the lane's, also of leases that it had before: a late answer of a node is true all the same. */
  const takeOut = (waiver: Uint8Array): Entry[] => {
    const isOwn = ({ held }: Entry) => bytesEqual(held.waiver, waiver);
    const own = waiting.filter(isOwn);
    if (own.length > 0) waiting = waiting.filter((entry) => !isOwn(entry));
    return own;
  };
  const storeAlongside: BroadcastBuffer["storeAlongside"] = async (held, write) => {
    const entries = takeOut(held.waiver);
    const written = write(entries.map(({ wrapper }) => wrapper));
    if (entries.length === 0) return await written;
    writing.push(written);
    try {
      const saved = await written;
      // Once more here; for others this is the first word.
      results.publish(saved.broadcast, () => BROADCAST);
      return saved;
    } catch (error) {
      // What was delivered under this lease or before it, whoever took the lane next found signed, and sent again.
      const isLost = ({ held: { epoch } }: Entry) => error instanceof LeaseLostError && epoch <= held.epoch;
      waiting.push(...entries.filter((entry) => !isLost(entry)));
      if (waiting.length > 0) storeIn(LATER_MS);
      throw error;
    } finally {
      writing = writing.filter((other) => other !== written);
    }
  };
  const storeAll = async () => {
    const byEpoch = waiting.map(({ held }) => held).sort((a, b) => Number(a.epoch - b.epoch));
    // Of a lane's leases the latest.
    const lanes = new Map(byEpoch.map((held) => [bytesToHex(held.waiver), held]));
    const writes = [...lanes.values()].map((held) =>
      storeAlongside(held, async (wrappers) => ({ broadcast: await saveBroadcast(store, held, wrappers) })),
    );
    for (const written of await Promise.allSettled([...writing, ...writes])) {
      if (written.status === "fulfilled") continue;
      log.debug({ err: (written.reason as Error).message }, "what was delivered could not be stored");
    }
  };
  return {
    add(held, wrappers) {
      if (wrappers.length === 0) return;
      waiting.push(...wrappers.map((wrapper) => ({ held, wrapper })));
      storeIn(flushDelayMs);
      for (const { id } of wrappers) results.notifyHere(id, BROADCAST);
    },
    storeAlongside,
    flush: storeAll,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
