import type { PoolEntry } from "../pool/admission.js";
import type { StateMark } from "../state/world.js";
import type { ClockSetting } from "./clock.js";

/** The chain at one moment. */
export interface Snapshot {
  readonly mark: StateMark;
  /** The entries of the pool. */
  readonly waiting: readonly PoolEntry[];
  readonly clock: ClockSetting;
}

/** Holds snapshots by number, starting at 1. Taking one out removes the later ones as well. */
export class Snapshots {
  readonly #snapshots = new Map<number, Snapshot>();
  #last = 0;

  add(snapshot: Snapshot): number {
    this.#snapshots.set(++this.#last, snapshot);
    return this.#last;
  }

  clear(): void {
    this.#snapshots.clear();
  }

  /** @returns the snapshot, and all that are removed, itself included; undefined if there is no such snapshot. */
  take(id: number): { readonly snapshot: Snapshot; readonly removed: readonly Snapshot[] } | undefined {
    const snapshot = this.#snapshots.get(id);
    if (snapshot === undefined) return undefined;
    const removed: Snapshot[] = [];
    for (const [number, later] of [...this.#snapshots]) {
      if (number < id) continue;
      removed.push(later);
      this.#snapshots.delete(number);
    }
    return { snapshot, removed };
  }
}
