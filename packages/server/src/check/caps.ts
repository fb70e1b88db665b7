import { bytesToHex, type Hex, type ProtocolError } from "@gas-waiver/protocol";
import type { KeyCaps } from "../model/caller.js";
import { capExceeded } from "../model/capExceeded.js";
import type { CapUse, DayUse } from "../store/caps.js";

/** A transaction that would be accepted, and reserved by its gas limit. */
export interface Reservation {
  /** Its place in the request. */
  readonly index: number;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly gasLimit: bigint;
}

/**
 * Which of these the key's daily caps have no room for (D25), as the store decides it: of those with one nonce of a
 * sender the first asks; if it does not fit, then, after all others, the first behind it that does.
 * @param queues those with one nonce of a sender, in the order of the request, as the queues are by their firsts.
 * @param use what is used today; its senders are these, in this order.
 */
export function checkCaps(
  queues: readonly (readonly Reservation[])[],
  caps: KeyCaps,
  use: DayUse,
  senders: readonly Uint8Array[],
): Map<number, ProtocolError> {
  const refused = new Map<number, ProtocolError>();
  const book = openBook(caps, use, senders);
  const fits = (one: Reservation) => {
    const error = book.refusalOf(one);
    if (error) refused.set(one.index, error);
    return error === undefined;
  };
  for (let waiting = queues; waiting.length > 0; ) {
    const shadowed: Reservation[][] = [];
    for (const [first, ...behind] of waiting) {
      if (first === undefined) continue;
      if (fits(first)) book.reserve(first);
      else shadowed.push(behind);
    }
    waiting = shadowed
      .map((queue) => queue.filter(fits))
      .filter((queue) => queue.length > 0)
      .sort(([a], [b]) => (a?.index ?? 0) - (b?.index ?? 0));
  }
  return refused;
}

function openBook(caps: KeyCaps, use: DayUse, senders: readonly Uint8Array[]) {
  const bySender = new Map<Hex, CapUse>(
    senders.map((sender, i) => [bytesToHex(sender), use.senders[i] ?? NOTHING]),
  );
  let all: CapUse = use.all;
  return {
    refusalOf({ sender, gasLimit }: Reservation): ProtocolError | undefined {
      const own = bySender.get(bytesToHex(sender)) ?? NOTHING;
      const [first] = [
        { cap: "transactions", limit: caps.transactions, used: all.transactions, asked: 1n },
        { cap: "gas", limit: caps.gas, used: all.gas, asked: gasLimit },
        { cap: "senderTransactions", limit: caps.senderTransactions, used: own.transactions, asked: 1n },
        { cap: "senderGas", limit: caps.senderGas, used: own.gas, asked: gasLimit },
      ].flatMap(({ limit, ...one }) =>
        limit !== undefined && one.used + one.asked > BigInt(limit) ? [{ ...one, limit: BigInt(limit) }] : [],
      );
      return first && capExceeded({ ...first, cap: first.cap as keyof KeyCaps, ends: use.ends });
    },
    reserve({ sender, gasLimit }: Reservation): void {
      const name = bytesToHex(sender);
      all = plus(all, gasLimit);
      bySender.set(name, plus(bySender.get(name) ?? NOTHING, gasLimit));
    },
  };
}

const NOTHING: CapUse = { transactions: 0n, gas: 0n };

function plus({ transactions, gas }: CapUse, gasLimit: bigint): CapUse {
  return { transactions: transactions + 1n, gas: gas + gasLimit };
}
