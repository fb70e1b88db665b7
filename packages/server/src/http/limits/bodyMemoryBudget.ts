import { ProtocolError } from "@gas-waiver/protocol";
import { type Caller, type LimitedCaller, partyOf } from "../../model/keys/caller.js";
import { Tally } from "../../util/tally.js";

/** The memory of one body or WebSocket message. */
export interface MemoryReservation {
  /** @throws {@link ProtocolError} `BODIES_AT_CAPACITY`. Then the reservation stays as large as before. */
  grow(bytes: number): void;
  /** Frees the whole reservation. May be called more than once. */
  release(): void;
}

/** The share of the memory, and of the WebSockets, that publishable keys may hold together: anybody can use them, from many addresses. */
export const PUBLISHABLE_SHARE = 0.5;
/** Names all publishable keys together. No key has this id. */
const PUBLISHABLE = "publishable keys";

/** The memory of all bodies and messages of one address under a publishable key, beside one of the largest size. */
export const ADDRESS_BYTES = 8_388_608;

export type BudgetOwner = LimitedCaller & {
  readonly limits: Pick<Caller["limits"], "queueShare" | "maxBodyBytes">;
};

/**
 * Bounds the memory of all bodies and WebSocket messages together. A body counts from its first byte until its response
 * is sent; a message until its transactions are in the store. Each key may hold the same share of the memory as of the
 * queue, and in any case one body of the largest size.
 */
export class BodyMemoryBudget {
  readonly #capacity: number;
  readonly #maxBodyBytes: number;
  /** The bytes of each key, and of each address under a publishable one. */
  readonly #bytesByOwner = new Tally();
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
        this.#add(owner, -reserved);
        reserved = 0;
      },
    };
  }

  #reserve(owner: BudgetOwner, bytes: number): void {
    const share = Math.max(this.#maxBodyBytes, Math.floor(this.#capacity * owner.limits.queueShare));
    if (this.#bytes + bytes > this.#capacity) throw atCapacity("the service holds", this.#capacity);
    if (this.#bytesByOwner.of(owner.keyId) + bytes > share) throw atCapacity("this key holds", share);
    const ofPublishable = Math.max(this.#maxBodyBytes, Math.floor(this.#capacity * PUBLISHABLE_SHARE));
    if (owner.address !== undefined && this.#bytesByOwner.of(PUBLISHABLE) + bytes > ofPublishable) {
      throw atCapacity("publishable keys hold", ofPublishable);
    }
    const ofAddress = Math.min(
      share,
      Math.max(owner.limits.maxBodyBytes ?? this.#maxBodyBytes, ADDRESS_BYTES),
    );
    if (owner.address !== undefined && this.#bytesByOwner.of(partyOf(owner)) + bytes > ofAddress) {
      throw atCapacity("this address holds", ofAddress);
    }
    this.#add(owner, bytes);
  }

  #add(owner: LimitedCaller, bytes: number): void {
    this.#bytes += bytes;
    for (const name of ownersOf(owner)) this.#bytesByOwner.add(name, bytes);
  }
}

/** The names that a body counts for. */
function ownersOf(owner: LimitedCaller): string[] {
  const isPublishable = owner.address !== undefined;
  return isPublishable ? [owner.keyId, partyOf(owner), PUBLISHABLE] : [owner.keyId];
}

function atCapacity(holder: string, capacity: number): ProtocolError {
  const message = `${holder} nearly ${capacity} bytes of bodies and frames, as many as it may at once`;
  return new ProtocolError("BODIES_AT_CAPACITY", message, { capacity });
}
