import { bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../../model/telemetry/log.js";
import type { Results } from "../../results/results.js";
import { type HeldLane, LeaseLostError } from "../../store/lanes/heldLane.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import type { Store } from "../../store/store.js";
import { saveBroadcast } from "../../store/transitions/saveBroadcast.js";
import type { Look, Schedule } from "../../util/schedule.js";
import { WorkQueue } from "../../util/workQueue.js";

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

/** A wrapper that a node has taken. The hash names the bytes, since a submission may be signed anew later. */
type TakenWrapper = Pick<InFlightSubmission, "id" | "wrapperHash" | "origin">;

/** Such a wrapper, which the store may not know yet; times in ms of a monotonic clock. */
interface Taken extends TakenWrapper {
  readonly held: HeldLane;
  readonly takenAt: number;
  readonly dueAt: number;
}

/**
 * The wrappers of one lane that a node has taken and the store does not know as broadcast yet. Result lines on this replica are
 * sent as soon as the node accepts the wrapper (D16); the database write follows. Until then the store has them as
 * `signed`, so that the same bytes go out again if anything fails in between. Each leaves the buffer once a write that has it has
 * succeeded.
 *
 * The clients of another replica learn from the store, so what it accepted is written within milliseconds. What this replica
 * accepted waits for its block for a while: the write of the inclusion makes that of the broadcast needless.
 */
export class BroadcastBuffer {
  readonly #dependencies: BroadcastBufferDependencies;
  /** By submission and hash: a node may still show a withdrawn wrapper when another has taken the next one. */
  readonly #taken = new Map<string, Taken>();
  /** Two writes of a lane that lock the same rows in another order would be a deadlock. */
  readonly #turns = new WorkQueue({ places: 1 });
  readonly #due: Look;

  constructor(dependencies: BroadcastBufferDependencies) {
    this.#dependencies = dependencies;
    this.#due = dependencies.schedule.look(async () => {
      const now = performance.now();
      await this.flush(({ dueAt }) => dueAt <= now);
      const dueAt = this.#all.map((one) => (one.dueAt <= now ? now + RETRY_MS : one.dueAt));
      return dueAt.length > 0 ? Math.min(...dueAt) - performance.now() : undefined;
    });
  }

  /** Adds wrappers that a node has taken, and notifies the result lines on this replica. */
  add(held: HeldLane, wrappers: readonly TakenWrapper[]): void {
    const { results, replica, ...waits } = this.#dependencies;
    const { flushDelayMs = FLUSH_DELAY_MS, blockWaitMs = BLOCK_WAIT_MS } = waits;
    const takenAt = performance.now();
    for (const { id, wrapperHash, origin } of wrappers) {
      const dueAt = dueAfter(takenAt, origin === replica ? blockWaitMs : flushDelayMs);
      this.#taken.set(nameOf({ id, wrapperHash }), { id, wrapperHash, origin, held, takenAt, dueAt });
      this.#due.wake(dueAt - performance.now());
      results.notifyHere(id, BROADCAST);
    }
  }

  /**
   * Tells which wrappers a node has taken that the store may not have as broadcast yet. A reader who asks the store afterwards misses no
   * broadcast: each is in the answer or in the store.
   */
  unstored(): (wrapper: Pick<TakenWrapper, "id" | "wrapperHash">) => boolean {
    const names = new Set(this.#taken.keys());
    return (wrapper) => names.has(nameOf(wrapper));
  }

  /** Stores all that is buffered. A client that has its line may ask for the record next. Never rejects. */
  flush(isMeant: (one: Taken) => boolean = () => true): Promise<void> {
    return this.#turns.run(() => this.#write(isMeant));
  }

  /**
   * Runs a write that moves these submissions beyond `broadcast`. It receives the times in ms since nodes took their
   * wrappers, as far as the store does not know.
   */
  storeBeyond<T>(ids: readonly string[], write: (agesMs: ReadonlyMap<string, number>) => Promise<T>) {
    const meant = new Set(ids);
    return this.#turns.run(async () => {
      const taken = this.#all.filter(({ id }) => meant.has(id));
      const saved = await write(new Map(taken.map((one) => [one.id, withAge(one).ageMs])));
      this.#remove(taken);
      return saved;
    });
  }

  /** Stores what it can, and ends. */
  async close(): Promise<void> {
    await this.flush();
    await this.#due.end();
  }

  get #all(): Taken[] {
    return [...this.#taken.values()];
  }

  async #write(isMeant: (one: Taken) => boolean): Promise<void> {
    const { store, results, log } = this.#dependencies;
    const taken = this.#all.filter(isMeant);
    const held = latestOf(taken);
    if (held === undefined) return;
    try {
      const saved = await saveBroadcast(store, held, taken.map(withAge));
      this.#remove(taken);
      // Lines on this replica get the update a second time, those on other replicas for the first time.
      results.publish(saved, () => BROADCAST);
    } catch (error) {
      // The lane's next owner finds these wrappers signed, and sends them again.
      if (error instanceof LeaseLostError) this.#remove(taken);
      log.debug({ err: (error as Error).message }, "broadcast wrappers could not be stored yet");
    }
  }

  #remove(stored: readonly Taken[]): void {
    // A wrapper that a node has taken once more stays.
    for (const one of stored) if (this.#taken.get(nameOf(one)) === one) this.#taken.delete(nameOf(one));
  }
}

function nameOf({ id, wrapperHash }: Pick<TakenWrapper, "id" | "wrapperHash">): string {
  return `${id} ${bytesToHex(wrapperHash)}`;
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
function latestOf(taken: readonly Taken[]): HeldLane | undefined {
  return taken.map(({ held }) => held).sort((a, b) => Number(b.epoch - a.epoch))[0];
}
