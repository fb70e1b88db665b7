import { bytesToHex, type Hex, type ProtocolError } from "@gas-waiver/protocol";
import type { KeyCaps } from "./caller.js";
import { capExceeded } from "./capExceeded.js";
import type { CapUse, DayUse } from "./store/caps.js";

/** A transaction that would be accepted, and reserved by its gas limit. */
export interface Reservation {
  /** Its place in the request. */
  readonly index: number;
  /** 20 bytes. */
  readonly sender: Uint8Array;
  readonly gasLimit: bigint;
}

/**
 * Which of these the key's daily caps have no room for, in the order of the request (D25).
 * @param use what is used today; its senders are these, in this order.
 */
export function checkCaps(
  reservations: readonly Reservation[],
  caps: KeyCaps,
  use: DayUse,
  senders: readonly Uint8Array[],
): Map<number, ProtocolError> {
  const refused = new Map<number, ProtocolError>();
  const bySender = new Map<Hex, CapUse>(
    senders.map((sender, i) => [bytesToHex(sender), use.senders[i] ?? NOTHING]),
  );
  let all: CapUse = use.all;
  for (const { index, sender, gasLimit } of reservations) {
    const name = bytesToHex(sender);
    const own = bySender.get(name) ?? NOTHING;
    const [first] = [
      { cap: "transactions", limit: caps.transactions, used: all.transactions, asked: 1n },
      { cap: "gas", limit: caps.gas, used: all.gas, asked: gasLimit },
      { cap: "senderTransactions", limit: caps.senderTransactions, used: own.transactions, asked: 1n },
      { cap: "senderGas", limit: caps.senderGas, used: own.gas, asked: gasLimit },
    ].flatMap(({ limit, ...one }) =>
      limit !== undefined && one.used + one.asked > BigInt(limit) ? [{ ...one, limit: BigInt(limit) }] : [],
    );
    if (first) {
      refused.set(index, capExceeded({ ...first, cap: first.cap as keyof KeyCaps, ends: use.ends }));
      continue;
    }
    all = plus(all, gasLimit);
    bySender.set(name, plus(own, gasLimit));
  }
  return refused;
}

const NOTHING: CapUse = { transactions: 0n, gas: 0n };

function plus({ transactions, gas }: CapUse, gasLimit: bigint): CapUse {
  return { transactions: transactions + 1n, gas: gas + gasLimit };
}
