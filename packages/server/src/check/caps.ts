import { bytesToHex } from "@gas-waiver/protocol";
import type { KeyCaps } from "../model/keys/caller.js";
import type { CapReached } from "../model/keys/capExceeded.js";
import type { CapUse, DayUse } from "../store/keys/capUse.js";

/** The part of a key's daily caps that a transaction would reserve: itself and its gas limit. */
export interface CapReservation {
  /** The transaction's position in the request. */
  readonly index: number;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly gasLimit: bigint;
}

/**
 * Finds the transactions for which the key's daily caps have no room (D25), in the same order as the store decides it.
 * Of a sender's transactions with the same nonce, the first one takes room. If it does not fit, the next one that
 * fits takes its place, after the first ones of all other nonces.
 * @param queues the transactions with one nonce of a sender each, in the order of the request; the queues are ordered by
 *   their first transactions.
 * @param use the key's use of today. Its senders are `senders`, in the same order.
 */
export function checkCaps(
  queues: readonly (readonly CapReservation[])[],
  caps: KeyCaps,
  use: DayUse,
  senders: readonly Uint8Array[],
): Map<number, CapReached> {
  const refused = new Map<number, CapReached>();
  const day = createCapDay(caps, use, senders);
  const fits = (reservation: CapReservation) => {
    const reached = day.capReachedBy(reservation);
    if (reached) refused.set(reservation.index, reached);
    return reached === undefined;
  };
  for (let waiting = queues; waiting.length > 0; ) {
    const behindRefused: CapReservation[][] = [];
    for (const [first, ...behind] of waiting) {
      if (first === undefined) continue;
      if (fits(first)) day.reserve(first);
      else behindRefused.push(behind);
    }
    waiting = behindRefused
      .map((queue) => queue.filter(fits))
      .filter((queue) => queue.length > 0)
      .sort(([a], [b]) => (a?.index ?? 0) - (b?.index ?? 0));
  }
  return refused;
}

const UNUSED: CapUse = { transactions: 0n, gas: 0n };

/** The use of a key's caps on one day, which grows with the reservations of a check. */
function createCapDay(caps: KeyCaps, { all, ends, ...use }: DayUse, senders: readonly Uint8Array[]) {
  let ofKey = all;
  const bySender = new Map(senders.map((sender, i) => [bytesToHex(sender), use.senders[i] ?? UNUSED]));
  const ofSender = (sender: Uint8Array) => bySender.get(bytesToHex(sender)) ?? UNUSED;
  return {
    /** @returns the first cap without room; undefined if the reservation fits. */
    capReachedBy({ sender, gasLimit }: CapReservation): CapReached | undefined {
      const { transactions, gas, senderTransactions, senderGas } = caps;
      const own = ofSender(sender);
      const checks = [
        { cap: "transactions", limit: transactions, used: ofKey.transactions, asked: 1n },
        { cap: "gas", limit: gas, used: ofKey.gas, asked: gasLimit },
        { cap: "senderTransactions", limit: senderTransactions, used: own.transactions, asked: 1n },
        { cap: "senderGas", limit: senderGas, used: own.gas, asked: gasLimit },
      ] as const;
      for (const { cap, limit, used, asked } of checks) {
        if (limit === undefined || used + asked <= BigInt(limit)) continue;
        return { cap, limit: BigInt(limit), used, asked, ends };
      }
      return undefined;
    },
    reserve({ sender, gasLimit }: CapReservation): void {
      ofKey = plusOne(ofKey, gasLimit);
      bySender.set(bytesToHex(sender), plusOne(ofSender(sender), gasLimit));
    },
  };
}

function plusOne({ transactions, gas }: CapUse, gasLimit: bigint): CapUse {
  return { transactions: transactions + 1n, gas: gas + gasLimit };
}
