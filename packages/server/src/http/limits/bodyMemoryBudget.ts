import { ProtocolError } from "@gas-waiver/protocol";
import { type Caller, type LimitedCaller, partyOf } from "../../model/keys/caller.js";
import { type Share, Tally } from "../../util/tally.js";

/** The memory of one body or WebSocket message. */
export interface MemoryReservation {
  /** @throws {@link ProtocolError} `BODIES_AT_CAPACITY`. Then the reservation stays as large as before. */
  grow(bytes: number): void;
  /** Frees the whole reservation. May be called more than once. */
  release(): void;
}

/** The share of the memory, and of the WebSockets, that publishable keys may hold together: anybody can use them, from many addresses. */
export const PUBLISHABLE_SHARE = 0.5;
/** Names all bodies together. No key has this id. */
const ALL = "all keys";

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
  readonly #held = new Tally();

  /**
   * @param capacity in bytes, for all keys together.
   * @param maxBodyBytes the size of the largest body or message.
   */
  constructor(capacity: number, maxBodyBytes: number) {
    this.#capacity = capacity;
    this.#maxBodyBytes = maxBodyBytes;
  }

  get reservedBytes(): number {
    return this.#held.of(ALL);
  }

  /** Opens a reservation of no bytes, which grows as the body arrives. */
  openReservation(owner: BudgetOwner): MemoryReservation {
    let reserved = 0;
    return {
      grow: (bytes) => {
        const shares = this.#sharesOf(owner);
        const full = this.#held.full(shares, bytes);
        if (full !== undefined) throw atCapacity(full);
        this.#held.addTo(shares, bytes);
        reserved += bytes;
      },
      release: () => {
        this.#held.addTo(this.#sharesOf(owner), -reserved);
        reserved = 0;
      },
    };
  }

  #sharesOf(owner: BudgetOwner): Share[] {
    const [capacity, largest] = [this.#capacity, this.#maxBodyBytes];
    const { queueShare, maxBodyBytes = largest } = owner.limits;
    const ofKey = Math.max(largest, Math.floor(capacity * queueShare));
    const shares: Share[] = [
      [ALL, capacity, "the service holds"],
      [owner.keyId, ofKey, "this key holds"],
    ];
    if (owner.address === undefined) return shares;
    const ofPublishable = Math.max(largest, Math.floor(capacity * PUBLISHABLE_SHARE));
    const ofAddress = Math.min(ofKey, Math.max(maxBodyBytes, ADDRESS_BYTES));
    shares.push(["publishable keys", ofPublishable, "publishable keys hold"]);
    shares.push([partyOf(owner), ofAddress, "this address holds"]);
    return shares;
  }
}

function atCapacity([, capacity, holder]: Share): ProtocolError {
  const message = `${holder} nearly ${capacity} bytes of bodies and frames, as many as it may at once`;
  return new ProtocolError("BODIES_AT_CAPACITY", message, { capacity });
}
