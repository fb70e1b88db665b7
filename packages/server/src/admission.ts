import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller } from "./intake.js";
import type { ResolvedOptions } from "./options.js";
import { queueLength } from "./store/queue.js";
import type { Store } from "./store/Store.js";

export interface AdmissionDependencies {
  readonly store: Store;
  readonly options: Pick<ResolvedOptions, "queueCapacity" | "keyQueueShare">;
  readonly chainRef: number;
}

/** Bounds what waits for a broadcast (D22). A request is admitted whole or not at all. */
export function createAdmission({ store, options, chainRef }: AdmissionDependencies) {
  // What has been admitted and is not in the store yet: of everybody, and by key.
  let entering = 0;
  const enteringOfKey = new Map<string, number>();
  const capacityOfKey = Math.ceil(options.queueCapacity * options.keyQueueShare);
  const add = (keyId: string, count: number) => {
    entering += count;
    const ofKey = (enteringOfKey.get(keyId) ?? 0) + count;
    if (ofKey > 0) enteringOfKey.set(keyId, ofKey);
    else enteringOfKey.delete(keyId);
  };
  return {
    /** @returns what to call when the request is in the store or has been refused. */
    async enter({ keyId }: Caller, count: number): Promise<() => void> {
      add(keyId, count);
      try {
        const stored = await queueLength(store, chainRef, keyId);
        assertRoom("QUEUE_AT_CAPACITY", "the queue", stored.all + entering, count, options.queueCapacity);
        const ofKey = stored.ofKey + (enteringOfKey.get(keyId) ?? 0);
        assertRoom("KEY_SHARE_EXHAUSTED", "this key's share of the queue", ofKey, count, capacityOfKey);
        return () => add(keyId, -count);
      } catch (error) {
        add(keyId, -count);
        throw error;
      }
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
