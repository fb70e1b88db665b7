import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller } from "../../model/caller.js";

/** The memory of one body or WebSocket message. */
export interface MemoryReservation {
  /** @throws {@link ProtocolError} `BODIES_AT_CAPACITY`. Then the reservation stays as large as before. */
  grow(bytes: number): void;
  /** Frees the whole reservation. May be called more than once. */
  release(): void;
}

export type BudgetOwner = Pick<Caller, "keyId"> & { readonly limits: Pick<Caller["limits"], "queueShare"> };

/**
 * Bounds the memory of all bodies and WebSocket messages together. A body counts from its first byte until its response
 * is sent; a message until its transactions are in the store. Each key may hold the same share of the memory as of the
 * queue, and in any case one body of the largest size.
 */
export class BodyMemoryBudget {
  readonly #capacity: number;
  readonly #maxBodyBytes: number;
  readonly #bytesByKey = new Map<string, number>();
  #bytes = 0;

  /**
   * @param capacity in bytes, for all keys together.
   * @param maxBodyBytes the size of the largest body or message.
   */
  constructor(capacity: number, maxBodyBytes: number) {
    this.#capacity = capacity;
    this.#maxBodyBytes = maxBodyBytes;
  }

  get reservedBytes(): number {
    return this.#bytes;
  }

  /** Opens a reservation of no bytes, which grows as the body arrives. */
  openReservation(owner: BudgetOwner): MemoryReservation {
    let reserved = 0;
    return {
      grow: (bytes) => {
        this.#reserve(owner, bytes);
        reserved += bytes;
      },
      release: () => {
        this.#add(owner.keyId, -reserved);
        reserved = 0;
      },
    };
  }

  #reserve({ keyId, limits }: BudgetOwner, bytes: number): void {
    const share = Math.max(this.#maxBodyBytes, Math.floor(this.#capacity * limits.queueShare));
    if (this.#bytes + bytes > this.#capacity) throw atCapacity("the service holds", this.#capacity);
    if ((this.#bytesByKey.get(keyId) ?? 0) + bytes > share) throw atCapacity("this key holds", share);
    this.#add(keyId, bytes);
  }

  #add(keyId: string, bytes: number): void {
    this.#bytes += bytes;
    const ofKey = (this.#bytesByKey.get(keyId) ?? 0) + bytes;
    if (ofKey === 0) this.#bytesByKey.delete(keyId);
    else this.#bytesByKey.set(keyId, ofKey);
  }
}

function atCapacity(holder: string, capacity: number): ProtocolError {
  const message = `${holder} nearly ${capacity} bytes of bodies and frames, as many as it may at once`;
  return new ProtocolError("BODIES_AT_CAPACITY", message, { capacity });
}
