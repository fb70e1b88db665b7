import type { Activity } from "./activity.js";
import { type Owner, runAs } from "./owner.js";

/** Something that happens at a virtual moment. */
export interface ScheduledEvent {
  readonly run: () => void;
  /** The process to which it happens; undefined for the world outside. */
  readonly owner: Owner | undefined;
  at: number;
  sequence: number;
  isCancelled: boolean;
}

/** A world's one clock, in ms since its beginning. It moves from event to event, and only while nothing else can run. */
export class VirtualClock {
  readonly #activity: Activity;
  readonly #heap: ScheduledEvent[] = [];
  #now = 0;
  #sequence = 0;

  constructor(activity: Activity) {
    this.#activity = activity;
  }

  get now(): number {
    return this.#now;
  }

  /** Schedules an event; events of one moment happen in the order of their scheduling. */
  schedule(delayMs: number, run: () => void, owner: Owner | undefined): ScheduledEvent {
    const event = { run, owner, at: this.#now + delayMs, sequence: 0, isCancelled: false };
    this.#push(event);
    return event;
  }

  /** Runs the world until a virtual moment, or until `isOver`. */
  async runUntil(until: number, isOver: () => boolean = () => false): Promise<void> {
    for (;;) {
      await this.#activity.settled();
      if (isOver()) return;
      while (this.#heap[0]?.isCancelled) this.#pop();
      const next = this.#heap[0];
      if (next === undefined || next.at > until) {
        this.#now = Math.max(this.#now, until);
        return;
      }
      this.#pop();
      this.#now = Math.max(this.#now, next.at);
      this.#happen(next);
    }
  }

  /**
   * Runs the world until a promise has settled.
   * @throws its error, or another one if it takes longer than `limitMs` of virtual time.
   */
  async runToEnd<T>(promise: Promise<T>, limitMs: number, what: string): Promise<T> {
    let isSettled = false;
    const settled = promise.finally(() => {
      isSettled = true;
    });
    settled.catch(() => {});
    await this.runUntil(this.#now + limitMs, () => isSettled);
    if (!isSettled) throw new Error(`${what}: no end within ${limitMs} virtual ms`);
    return await settled;
  }

  /** Lets a process go on, with everything that came while it was frozen. */
  thaw(owner: Owner): void {
    owner.isFrozen = false;
    for (const event of owner.held.splice(0)) {
      event.at = this.#now;
      this.#push(event);
    }
  }

  #happen(event: ScheduledEvent): void {
    const { owner } = event;
    if (owner?.isDead) return;
    if (owner?.isFrozen) {
      owner.held.push(event);
      return;
    }
    this.#activity.changed();
    runAs(owner, event.run);
  }

  #push(event: ScheduledEvent): void {
    event.sequence = this.#sequence++;
    const heap = this.#heap;
    let place = heap.push(event) - 1;
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isEarlier(event, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      const [left, right] = [heap[below], heap[below + 1]];
      if (left === undefined) break;
      if (right !== undefined && isEarlier(right, left)) below++;
      const child = heap[below];
      if (child === undefined || !isEarlier(child, last)) break;
      heap[place] = child;
      place = below;
    }
    heap[place] = last;
  }
}

function isEarlier(one: ScheduledEvent, other: ScheduledEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.sequence < other.sequence);
}
