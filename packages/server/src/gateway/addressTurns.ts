import type { LimitedCaller } from "../model/keys/caller.js";
import { createFairSemaphore, type FairSemaphore } from "../util/fairSemaphore.js";

/** Runs the task of a client in the turn of its key among all keys behind the same address. */
export type AddressTurns = <T>(caller: LimitedCaller, task: () => Promise<T>) => Promise<T>;

/**
 * Bounds the tasks of one address that run at the same time, over all publishable keys: anybody can have many keys. A
 * caller without an address has a secret key, and its task runs at once.
 * @param maxWaitingOfKey the most tasks of one key that wait behind one address.
 */
export function createAddressTurns(maxRunning: number, maxWaitingOfKey: number): AddressTurns {
  const semaphores = new Map<string, { readonly turns: FairSemaphore; tasks: number }>();
  return async ({ keyId, address }, task) => {
    if (address === undefined) return await task();
    const ofAddress = semaphores.get(address) ?? {
      turns: createFairSemaphore(maxRunning, Number.POSITIVE_INFINITY, maxWaitingOfKey),
      tasks: 0,
    };
    semaphores.set(address, ofAddress);
    ofAddress.tasks++;
    try {
      return await ofAddress.turns.run(task, keyId);
    } finally {
      ofAddress.tasks--;
      if (ofAddress.tasks === 0) semaphores.delete(address);
    }
  };
}
