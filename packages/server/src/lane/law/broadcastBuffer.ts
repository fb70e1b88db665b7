import { bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import type { Results } from "../../results/results.js";
import { type HeldLane, LeaseLostError } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { Store } from "../../store/store.js";
import { saveBroadcast } from "../../store/transitions/saveBroadcast.js";
import type { Look, Schedule } from "../../util/schedule.js";
import { WorkQueue } from "../../util/workQueue.js";

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
export type BroadcastBuffer = ReturnType<typeof createBroadcastBuffer>;

interface BroadcastBufferDependencies {
  readonly store: Store;
  readonly results: Pick<Results, "notifyHere" | "publish">;
  readonly log: Logger;
  /** The name of this replica. */
  readonly replica: string;
  readonly schedule: Schedule;
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

export function createBroadcastBuffer(dependencies: BroadcastBufferDependencies) {
  const { store, results, log, replica, schedule } = dependencies;
  const { flushDelayMs = FLUSH_DELAY_MS, blockWaitMs = BLOCK_WAIT_MS } = dependencies;
  const lanes = new Map<string, LaneBuffer>();
  const laneOf = (waiver: Uint8Array) => {
    const name = bytesToHex(waiver);
    const lane = lanes.get(name) ?? new LaneBuffer({ store, results, log, schedule });
    lanes.set(name, lane);
    return lane;
  };
  return {
    /** Adds wrappers that a node has taken, and notifies the result lines on this replica. */
    add(held: HeldLane, wrappers: readonly BufferedBroadcast[]): void {
      const takenAt = performance.now();
      const lane = laneOf(held.waiver);
      for (const { id, wrapperHash, origin } of wrappers) {
        const dueAt = dueAfter(takenAt, origin === replica ? blockWaitMs : flushDelayMs);
        lane.add({ id, wrapperHash, origin, held, takenAt, dueAt });
        results.notifyHere(id, BROADCAST);
      }
    },
    /**
     * Runs a write that moves these submissions beyond `broadcast`. It receives the times in ms since nodes took their
     * wrappers, as far as the store does not know.
     */
    storeBeyond: <T>(
      held: HeldLane,
      ids: readonly string[],
      write: (agesMs: ReadonlyMap<string, number>) => Promise<T>,
    ) => laneOf(held.waiver).storeBeyond(ids, write),
    /**
     * Returns the submissions whose broadcasts the store may not have yet. A reader who asks the store afterwards misses no
     * broadcast: each is in the answer or in the store.
     */
    unstored: (): ReadonlySet<string> => new Set([...lanes.values()].flatMap((lane) => lane.ids)),
    /**
     * Stores all that is buffered. A client that has its line may ask for the record next. Never rejects.
     * @param waiver the lane's; of all lanes if undefined.
     */
    async flush(waiver?: Uint8Array): Promise<void> {
      const meant = waiver === undefined ? [...lanes.values()] : [laneOf(waiver)];
      await Promise.all(meant.map((lane) => lane.flush()));
    },
    close: () => void [...lanes.values()].map((lane) => lane.end()),
  };
}

/** The wrappers of one lane. Each leaves the buffer once a write that has it has succeeded. */
class LaneBuffer {
  readonly #dependencies: Pick<BroadcastBufferDependencies, "store" | "results" | "log">;
  readonly #buffered = new Map<string, Taken>();
  /** Two writes of a lane that lock the same rows in another order would be a deadlock. */
  readonly #turns = new WorkQueue({ places: 1 });
  readonly #due: Look;

  constructor({ schedule, ...dependencies }: Omit<BroadcastBufferDependencies, "replica">) {
    this.#dependencies = dependencies;
    this.#due = schedule.look(async () => {
      const now = performance.now();
      await this.flush(({ dueAt }) => dueAt <= now);
      const dueAt = [...this.#buffered.values()].map((one) =>
        one.dueAt <= now ? now + RETRY_MS : one.dueAt,
      );
      return dueAt.length > 0 ? Math.min(...dueAt) - performance.now() : undefined;
    });
  }

  get ids(): string[] {
    return [...this.#buffered.keys()];
  }

  add(one: Taken): void {
    this.#buffered.set(one.id, one);
    this.#due.wake(one.dueAt - performance.now());
  }

  flush(isMeant: (one: Taken) => boolean = () => true): Promise<void> {
    return this.#turns.run(() => this.#write(isMeant));
  }

  storeBeyond<T>(ids: readonly string[], write: (agesMs: ReadonlyMap<string, number>) => Promise<T>) {
    return this.#turns.run(async () => {
      const entries = ids.flatMap((id) => this.#buffered.get(id) ?? []);
      const saved = await write(new Map(entries.map((one) => [one.id, withAge(one).ageMs])));
      this.#remove(entries);
      return saved;
    });
  }

  end(): Promise<void> {
    return this.#due.end();
  }

  async #write(isMeant: (one: Taken) => boolean): Promise<void> {
    const { store, results, log } = this.#dependencies;
    const entries = [...this.#buffered.values()].filter(isMeant);
    const held = latestOf(entries);
    if (held === undefined) return;
    try {
      const saved = await saveBroadcast(store, held, entries.map(withAge));
      this.#remove(entries);
      // Lines on this replica get the update a second time, those on other replicas for the first time.
      results.publish(saved, () => BROADCAST);
    } catch (error) {
      // The lane's next owner finds these wrappers signed, and sends them again.
      if (error instanceof LeaseLostError) this.#remove(entries);
      log.debug({ err: (error as Error).message }, "broadcast wrappers could not be stored yet");
    }
  }

  #remove(stored: readonly Taken[]): void {
    // A later wrapper of the submission stays.
    for (const one of stored) if (this.#buffered.get(one.id) === one) this.#buffered.delete(one.id);
  }
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
