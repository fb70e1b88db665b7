import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller } from "../../model/caller.js";

/** What one body or frame holds. */
export interface MemoryReservation {
  /** @throws {@link ProtocolError} `BODIES_AT_CAPACITY`, and holds no more than before. */
  grow(bytes: number): void;
  /** Gives everything back; may be called again. */
  release(): void;
}

export type BudgetOwner = Pick<Caller, "keyId"> & { readonly limits: Pick<Caller["limits"], "queueShare"> };

/**
 * Bounds the bytes of all bodies and frames that are held at once, from their first byte until their request is over
 * (a frame: until it is in the store), in all and for each key, which may hold as large a share of it as of the queue,
 * and one of the largest bodies in any case.
 */
export class BodyMemoryBudget {
  readonly #capacity: number;
  readonly #largest: number;
  readonly #ofKey = new Map<string, number>();
  #all = 0;

  /**
   * @param capacity in bytes.
   * @param largest a body or frame, in bytes.
   */
  constructor(capacity: number, largest: number) {
    this.#capacity = capacity;
    this.#largest = largest;
  }

  /** Bytes held now. */
  get reservedBytes(): number {
    return this.#all;
  }

  openReservation(owner: BudgetOwner): MemoryReservation {
    let held = 0;
    return {
      grow: (bytes) => {
        this.#take(owner, bytes);
        held += bytes;
      },
      release: () => {
        this.#add(owner.keyId, -held);
        held = 0;
      },
    };
  }

  #take({ keyId, limits }: BudgetOwner, bytes: number): void {
    const share = Math.max(this.#largest, Math.floor(this.#capacity * limits.queueShare));
    if (this.#all + bytes > this.#capacity) throw full("the service holds", this.#capacity);
    if ((this.#ofKey.get(keyId) ?? 0) + bytes > share) throw full("this key holds", share);
    this.#add(keyId, bytes);
  }

  #add(keyId: string, bytes: number): void {
    this.#all += bytes;
    const ofKey = (this.#ofKey.get(keyId) ?? 0) + bytes;
    if (ofKey === 0) this.#ofKey.delete(keyId);
    else this.#ofKey.set(keyId, ofKey);
  }
}

function full(who: string, capacity: number): ProtocolError {
  const message = `${who} nearly ${capacity} bytes of bodies and frames, as many as it may at once`;
  return new ProtocolError("BODIES_AT_CAPACITY", message, { capacity });
}
