import { bytesToHex } from "@gas-waiver/protocol";
import type { LaneFloors } from "../lanes/queue/laneFloors.js";
import { type NewSubmission, PLAIN_GAS } from "./newSubmission.js";

/** The cost of a plain submission, in ms of virtual time. It is so small that no lane signs faster for a single key. */
const COST_MS = 0.1;
/** The bytes of a plain submission. Blocks have a limit of bytes as well. */
const PLAIN_BYTES = 512;
/** No place is further ahead of the queue's head, in ms, so that a clock that was set back delays nobody for ever. */
const MAX_AHEAD_MS = 60_000;

/** The places of an API key that are ahead of the head of a lane's queue, in ms since 1970 by the database's clock. */
interface KeyPlaces {
  /** The place of the next sender that has none ahead. */
  nextSender: number;
  /** The last place of each sender and what it cost, keyed by the sender in hex. */
  readonly lastOf: Map<string, { readonly place: number; readonly cost: number }>;
}

interface LanePlaces {
  head: number;
  readonly byKey: Map<string, KeyPlaces>;
}

/**
 * Gives submissions their places in the queues of the lanes, once, when they are accepted: reading a queue is then a matter of
 * its order. It is the virtual time of fair queueing. Whoever has nothing ahead of the head of the queue has the head's place, so
 * a single transaction goes before a flood of another key, however long that has waited. Each further submission of a sender
 * is a cost behind the one before, times the senders of the key; each further sender of a key, a cost behind the sender before. The
 * cost counts what a submission takes from a block: its gas or its bytes.
 *
 * Each replica gives places by its own acceptances, and by its last reading of the lanes. A flood over two replicas has twice the
 * share, and is still behind a single transaction.
 */
export class Places {
  readonly #floors: Pick<LaneFloors, "headOf">;
  readonly #lanes = new Map<string, LanePlaces>();

  constructor(floors: Pick<LaneFloors, "headOf">) {
    this.#floors = floors;
  }

  /**
   * Gives each submission its place, in ms since 1970; of one sender, the lower nonce comes first.
   * @returns in the order of the submissions; null for the end of the queue, where its head is not known.
   */
  give(newSubmissions: readonly Pick<NewSubmission, PricedColumns>[]) {
    const places = new Array<number | null>(newSubmissions.length).fill(null);
    const inOrder = [...newSubmissions.entries()].sort(([, a], [, b]) =>
      a.senderNonce < b.senderNonce ? -1 : a.senderNonce > b.senderNonce ? 1 : 0,
    );
    for (const [i, one] of inOrder) {
      const { waiver, keyId, sender } = one;
      const lane = this.#laneOf(waiver);
      if (lane !== undefined) places[i] = nextPlace(lane, keyId, bytesToHex(sender), costOf(one));
    }
    return places;
  }

  #laneOf(waiver: Uint8Array): LanePlaces | undefined {
    const head = this.#floors.headOf(waiver)?.getTime();
    if (head === undefined) return undefined;
    const name = bytesToHex(waiver);
    const lane = this.#lanes.get(name) ?? { head, byKey: new Map() };
    this.#lanes.set(name, lane);
    if (lane.head !== head) forgetPassed(lane, head);
    return lane;
  }
}

type PricedColumns = "waiver" | "keyId" | "sender" | "senderNonce" | "gasLimit" | "innerRaw";

function costOf({ gasLimit, innerRaw }: Pick<NewSubmission, "gasLimit" | "innerRaw">): number {
  return COST_MS * Math.max(1, Number(gasLimit) / PLAIN_GAS, innerRaw.length / PLAIN_BYTES);
}

function nextPlace({ head, byKey }: LanePlaces, keyId: string, sender: string, cost: number): number {
  const key = byKey.get(keyId) ?? { nextSender: head, lastOf: new Map() };
  byKey.set(keyId, key);
  const last = key.lastOf.get(sender);
  const next = last === undefined ? key.nextSender : last.place + last.cost * key.lastOf.size;
  const place = Math.min(next, head + MAX_AHEAD_MS);
  // A new sender comes between two submissions of a single one.
  if (last === undefined) key.nextSender = place + (place === head ? cost / 2 : cost);
  key.lastOf.set(sender, { place, cost });
  return place;
}

/** Forgets whoever has nothing at the new head or behind. */
function forgetPassed(lane: LanePlaces, head: number): void {
  lane.head = head;
  for (const [keyId, key] of lane.byKey) {
    for (const [sender, last] of key.lastOf) if (last.place < head) key.lastOf.delete(sender);
    key.nextSender = Math.max(head, key.nextSender);
    if (key.lastOf.size === 0 && key.nextSender === head) lane.byKey.delete(keyId);
  }
}
