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

interface OpenReservation {
  readonly party: string;
  /** The names of its shares. */
  readonly names: readonly string[];
  bytes: number;
  readonly cut: (() => void) | undefined;
}

/**
 * Bounds the memory of all bodies, WebSocket messages and answers of the gateway together. A body counts from its first byte until its
 * response is sent; a message until its transactions are in the store, or its answer has left. Each key may hold the same share of the
 * memory as of the queue, and in any case one body of the largest size. Where a share is full, whoever needs little takes the place of
 * the party with most.
 */
export class BodyMemoryBudget {
  readonly #capacity: number;
  readonly #maxBodyBytes: number;
  readonly #maxAnswerBytes: number;
  readonly #held = new Tally();
  readonly #open = new Set<OpenReservation>();

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

  /**
   * Opens a reservation of no bytes, which grows as the body arrives.
   * @param cut ends what the reservation is for, where others need the room.
   */
  openReservation(owner: BudgetOwner, cut?: () => void): MemoryReservation {
    const party = partyOf(owner);
    const names = this.#sharesOf(owner).map(([name]) => name);
    const one: OpenReservation = { party, names, bytes: 0, cut };
    this.#open.add(one);
    return {
      grow: (bytes) => {
        if (!this.#open.has(one)) return;
        const shares = this.#sharesOf(owner);
        for (let full = this.#held.full(shares, bytes); full; full = this.#held.full(shares, bytes)) {
          if (!this.#makeRoom(full, this.#held.of(party) + bytes)) throw atCapacity(full);
        }
        this.#held.addTo(shares, bytes);
        one.bytes += bytes;
      },
      release: () => this.#release(one),
    };
  }

  #release(one: OpenReservation): void {
    if (!this.#open.delete(one)) return;
    for (const name of one.names) this.#held.add(name, -one.bytes);
  }

  /** Cuts off the most of the party that holds most under a share, if that is more than twice what another one needs. */
  #makeRoom([name]: Share, needed: number): boolean {
    const heldBy = ({ party }: OpenReservation) => this.#held.of(party);
    let most: OpenReservation | undefined;
    for (const one of this.#open) {
      if (one.cut === undefined || one.bytes === 0 || !one.names.includes(name)) continue;
      const isMore = most === undefined || heldBy(one) > heldBy(most);
      if (isMore || (one.party === most?.party && one.bytes > most.bytes)) most = one;
    }
    if (most === undefined || heldBy(most) <= 2 * needed) return false;
    this.#release(most);
    most.cut?.();
    return true;
  }

  /** The narrowest first, where room is made first: publishable keys take none of secret ones while their share is full. */
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
