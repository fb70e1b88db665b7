import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller } from "../model/caller.js";
import type { ResolvedOptions } from "../model/options.js";
import { queueLengths } from "../store/queueLengths.js";
import type { Store } from "../store/store.js";

/** Bounds what waits for a broadcast (D22). A request is admitted whole or not at all. */
export interface Admission {
  /**
   * @returns what to call when the request is in the store or has been refused.
   * @throws {@link ProtocolError} `QUEUE_FULL`.
   */
  admit(caller: Caller, count: number): Promise<() => void>;
}

export interface AdmissionDependencies {
  readonly store: Store;
  readonly options: Pick<ResolvedOptions, "queueCapacity">;
  readonly chainRef: number;
}

/** How long the store's count holds before it is asked again: counting costs as much as there is to count. */
const COUNT_MS = 100;

/** Transactions, of everybody and by key. */
class Tally {
  all = 0;
  readonly #ofKey = new Map<string, number>();

  ofKey(keyId: string): number {
    return this.#ofKey.get(keyId) ?? 0;
  }

  add(keyId: string, count: number): void {
    this.all += count;
    this.#ofKey.set(keyId, this.ofKey(keyId) + count);
  }
}

/**
 * Between two counts of the store, whatever came through here since the first began counts as waiting still. That
 * is too much rather than too little, so before a request is refused the store is asked again.
 */
export function createAdmission({ store, options, chainRef }: AdmissionDependencies): Admission {
  /** Admitted, and not through yet. */
  const entering = new Tally();
  let stored = new Tally();
  /** Came through since the store's count was begun. */
  let since = new Tally();
  /** The same for the count under way. */
  let next = since;
  let countedAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<void> | undefined;
  const count = async () => {
    const at = performance.now();
    const sinceThen = new Tally();
    next = sinceThen;
    const found = new Tally();
    for (const [keyId, waiting] of await queueLengths(store, chainRef)) found.add(keyId, waiting);
    stored = found;
    since = sinceThen;
    countedAt = at;
  };
  const recount = () => {
    counting ??= count().finally(() => {
      counting = undefined;
    });
    return counting;
  };
  const assertFits = ({ keyId, limits }: Caller, transactions: number) => {
    const all = stored.all + since.all + entering.all + transactions;
    assertRoom("QUEUE_AT_CAPACITY", "the queue", all, transactions, options.queueCapacity);
    const capacityOfKey = Math.ceil(options.queueCapacity * limits.queueShare);
    const ofKey = stored.ofKey(keyId) + since.ofKey(keyId) + entering.ofKey(keyId) + transactions;
    assertRoom("KEY_SHARE_EXHAUSTED", "this key's share of the queue", ofKey, transactions, capacityOfKey);
  };
  const leave = (keyId: string, transactions: number) => {
    entering.add(keyId, -transactions);
    since.add(keyId, transactions);
    if (next !== since) next.add(keyId, transactions);
  };
  return {
    async admit(caller, transactions) {
      const isFresh = performance.now() - countedAt < COUNT_MS;
      if (!isFresh) await recount();
      try {
        assertFits(caller, transactions);
      } catch (error) {
        if (!isFresh) throw error;
        await recount();
        assertFits(caller, transactions);
      }
      // Not before: what one key's flood asks for, and will be refused, takes nobody else's room.
      entering.add(caller.keyId, transactions);
      return () => leave(caller.keyId, transactions);
    },
  };
}

function assertRoom(
  reason: "QUEUE_AT_CAPACITY" | "KEY_SHARE_EXHAUSTED",
  what: string,
  wanted: number,
  count: number,
  capacity: number,
): void {
  if (wanted <= capacity) return;
  const held = wanted - count;
  const message = `${what} holds ${held} of ${capacity} submissions; ${count} more do not fit`;
  throw new ProtocolError(reason, message, { held, capacity, transactions: count });
}
