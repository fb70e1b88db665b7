import type { Entry } from "../pool/admission.js";
import type { StateMark } from "../state/world.js";
import type { ClockSetting } from "./clock.js";

/** All that it takes to bring the chain back to a moment. */
export interface Snapshot {
  readonly mark: StateMark;
  /** What waited in the pool. */
  readonly waiting: readonly Entry[];
  readonly clock: ClockSetting;
}

/** Snapshots by number, from 1 on. Going back to one uses it up, and those taken after it. */
export class Snapshots {
  readonly #taken = new Map<number, Snapshot>();
  #last = 0;

  add(snapshot: Snapshot): number {
    this.#taken.set(++this.#last, snapshot);
    return this.#last;
  }

  /** @returns the snapshot and those that it makes void, or undefined when there is no such. */
  take(id: number): { readonly snapshot: Snapshot; readonly voided: readonly Snapshot[] } | undefined {
    const snapshot = this.#taken.get(id);
    if (snapshot === undefined) return undefined;
    const voided: Snapshot[] = [];
    for (const [other, later] of [...this.#taken]) {
      if (other < id) continue;
      voided.push(later);
      this.#taken.delete(other);
    }
    return { snapshot, voided };
  }
}
