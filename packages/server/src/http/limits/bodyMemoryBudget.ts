import { ProtocolError } from "@gas-waiver/protocol";
import { type Caller, type LimitedCaller, PUBLISHABLE_SHARE, partyOf } from "../../model/keys/caller.js";
import type { MemoryReservation } from "../../model/memoryReservation.js";
import { SharedRoom } from "../../util/sharedRoom.js";
import type { Share } from "../../util/tally.js";

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
  readonly #room = new SharedRoom();

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
    return this.#room.heldOf(ALL);
  }

  /**
   * Opens a reservation of no bytes, which grows as the body arrives.
   * @param cut ends what the reservation is for, where others need the room.
   */
  openReservation(owner: BudgetOwner, cut?: () => void): MemoryReservation {
    const holding = this.#room.open({ party: partyOf(owner), shares: this.#sharesOf(owner) }, cut);
    return {
      grow: (bytes) => {
        const full = this.#room.grow(holding, bytes);
        if (full !== undefined) throw atCapacity(full);
      },
      release: () => this.#room.release(holding),
    };
  }

  /** Publishable keys take no room of secret ones while their own share is full. */
  #sharesOf(owner: BudgetOwner): Share[] {
    const [capacity, largest] = [this.#capacity, this.#maxBodyBytes];
    const { queueShare, maxBodyBytes = largest } = owner.limits;
    const ofKey = Math.max(largest, Math.floor(capacity * queueShare));
    const shares: Share[] = [
      [owner.keyId, ofKey, "this key holds"],
      [ALL, capacity, "the service holds"],
    ];
    if (owner.address === undefined) return shares;
    const ofPublishable = Math.max(largest, Math.floor(capacity * PUBLISHABLE_SHARE));
    const ofAddress = Math.min(ofKey, Math.max(maxBodyBytes + this.#maxAnswerBytes, ADDRESS_BYTES));
    return [
      [partyOf(owner), ofAddress, "this address holds"],
      ["publishable keys", ofPublishable, "publishable keys hold"],
      ...shares,
    ];
  }
}

function atCapacity([, capacity, holder]: Share): ProtocolError {
  const message = `${holder} nearly ${capacity} bytes of bodies, frames and answers, as many as it may at once`;
  return new ProtocolError("BODIES_AT_CAPACITY", message, { capacity });
}
