import { AsyncLocalStorage } from "node:async_hooks";
import type { ScheduledEvent } from "./clock.js";

/**
 * A process of the simulation. The code that runs for it, and all timers, statements and requests that this code begins, carry it
 * through AsyncLocalStorage. The chain, the nodes and the users have no owner.
 */
export class Owner {
  readonly name: string;
  /** Its machine's clock (`Date`) is ahead by this many ms. */
  clockStepMs = 0;
  isFrozen = false;
  isDead = false;
  /** The events that came while it was frozen, in order. */
  readonly held: ScheduledEvent[] = [];

  constructor(name: string) {
    this.name = name;
  }
}

const owners = new AsyncLocalStorage<Owner | undefined>();

/** @returns the process whose code runs now. */
export const currentOwner = (): Owner | undefined => owners.getStore();

/** Runs code as a process; undefined stands for the world outside of all of them. */
export const runAs = <T>(owner: Owner | undefined, run: () => T): T => owners.run(owner, run);

/**
 * Lets each step of an iteration run as the process that runs now, whoever takes the steps: a generator runs as the one that asks for its
 * next value, so the timers of a killed process would be the asker's, and live on.
 */
export function iterateHere<T>(values: AsyncIterable<T>): AsyncIterable<T> {
  const owner = currentOwner();
  return {
    [Symbol.asyncIterator]() {
      const steps = runAs(owner, () => values[Symbol.asyncIterator]());
      return { next: () => runAs(owner, () => steps.next()) };
    },
  };
}
