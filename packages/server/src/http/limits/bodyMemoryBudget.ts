import { ProtocolError } from "@gas-waiver/protocol";
import { type Caller, type LimitedCaller, PUBLISHABLE_SHARE, partyOf } from "../../model/keys/caller.js";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import { type Share, Tally } from "../../util/tally.js";

/** Names all bodies together. No key has this id. */
const ALL = "all keys";

/** The memory of all bodies, messages and answers of one address under a publishable key, if one of the largest size needs no more. */
export const ADDRESS_BYTES = 8_388_608;

export type BudgetOwner = LimitedCaller & {
  readonly limits: Pick<Caller["limits"], "queueShare" | "maxBodyBytes">;
};

/**
 * Bounds the memory of all bodies, WebSocket messages and answers of the gateway together. A body counts from its first byte until its
 * response is sent; a message until its transactions are in the store, or its answer has left. Each key may hold the same share of the
 * memory as of the queue, and in any case one body of the largest size.
 */
export class BodyMemoryBudget {
  readonly #capacity: number;
  readonly #maxBodyBytes: number;
  readonly #maxAnswerBytes: number;
  readonly #held = new Tally();

  /**
   * @param capacity in bytes, for all keys together.
   * @param maxBodyBytes the size of the largest body or message.
   * @param maxAnswerBytes the size of the largest answer that counts.
   */
  constructor(capacity: number, maxBodyBytes: number, maxAnswerBytes = 0) {
    this.#capacity = capacity;
    this.#maxBodyBytes = maxBodyBytes;
    this.#maxAnswerBytes = maxAnswerBytes;
  }

  get reservedBytes(): number {
    return this.#held.of(ALL);
  }

  /** Opens a reservation of no bytes, which grows as the body arrives. */
  openReservation(owner: BudgetOwner): MemoryReservation {
    let reserved = 0;
    let isReleased = false;
    return {
      grow: (bytes) => {
        if (isReleased) return;
        const shares = this.#sharesOf(owner);
        const full = this.#held.full(shares, bytes);
        if (full !== undefined) throw atCapacity(full);
        this.#held.addTo(shares, bytes);
        reserved += bytes;
      },
      release: () => {
        this.#held.addTo(this.#sharesOf(owner), -reserved);
        reserved = 0;
        isReleased = true;
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
    const ofAddress = Math.min(ofKey, Math.max(maxBodyBytes + this.#maxAnswerBytes, ADDRESS_BYTES));
    shares.push(["publishable keys", ofPublishable, "publishable keys hold"]);
    shares.push([partyOf(owner), ofAddress, "this address holds"]);
    return shares;
  }
}

function atCapacity([, capacity, holder]: Share): ProtocolError {
  const message = `${holder} nearly ${capacity} bytes of bodies, frames and answers, as many as it may at once`;
  return new ProtocolError("BODIES_AT_CAPACITY", message, { capacity });
}
