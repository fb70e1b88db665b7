import { bytesToHex, type ProtocolError } from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/client/nodeClient.js";
import type { Caller, KeyCaps } from "../model/keys/caller.js";
import { capExceeded } from "../model/keys/capExceeded.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import { findDayUse } from "../store/keys/capUse.js";
import type { Store } from "../store/store.js";
import { type IndexedTransaction, loadAccounts, type SenderAccounts } from "./accounts.js";
import { type CapReservation, checkCaps } from "./caps.js";

/** A transaction of a checked request: the error that refuses it, or a transaction that nothing has refused so far. */
export type CheckedTransaction =
  | { readonly index: number; readonly error: ProtocolError }
  | IndexedTransaction;

export interface FitDependencies {
  readonly store: Store;
  readonly chain: NodeClient;
  readonly chainRef: number;
}

/**
 * Refuses the transactions that do not fit their senders' accounts, and then those that do not fit the key's daily caps.
 * @throws ProtocolError `STORE_UNAVAILABLE`, or RpcUnavailableError if no node answers.
 */
export async function checkFit(
  checked: readonly CheckedTransaction[],
  caller: Caller,
  dependencies: FitDependencies,
): Promise<CheckedTransaction[]> {
  const valid = checked.filter((one) => "valid" in one);
  const accounts = await loadAccounts(valid, dependencies);
  const { caps } = caller;
  const refused = caps
    ? await refusedWithCaps(valid, accounts, { ...caller, caps }, dependencies.store)
    : accounts.verdict().refused;
  return checked.map((one) => {
    const error = refused.get(one.index);
    return error ? { index: one.index, error } : one;
  });
}

async function refusedWithCaps(
  valid: readonly IndexedTransaction[],
  accounts: SenderAccounts,
  caller: Caller & { readonly caps: KeyCaps },
  store: Store,
): Promise<ReadonlyMap<number, ProtocolError>> {
  const { senders } = accounts;
  const { refused, known } = accounts.verdict();
  const use = await mapStoreErrors(() => findDayUse(store, caller.keyId, senders));
  const wouldReserve = ({ index }: IndexedTransaction) => !refused.has(index) && !known.has(index);
  const capped = checkCaps(queueByNonce(valid, wouldReserve), caller.caps, use, senders);
  const cappedRefusals = [...capped].map(
    ([index, reached]) => [index, capExceeded(reached, caller)] as const,
  );
  // Without the capped transactions, those behind them leave a gap, or get the nonce.
  return new Map([...accounts.verdict(new Set(capped.keys())).refused, ...cappedRefusals]);
}

/** Queues the transactions of each nonce of a sender behind the one that would be accepted. */
function queueByNonce(
  valid: readonly IndexedTransaction[],
  wouldReserve: (one: IndexedTransaction) => boolean,
): CapReservation[][] {
  const queues = new Map<string, CapReservation[]>();
  for (const one of valid) {
    const { sender, tx } = one.valid;
    const senderAndNonce = `${bytesToHex(sender)} ${tx.nonce}`;
    const queue = queues.get(senderAndNonce);
    if (queue) queue.push(reservationOf(one));
    else if (wouldReserve(one)) queues.set(senderAndNonce, [reservationOf(one)]);
  }
  return [...queues.values()];
}

function reservationOf({ index, valid }: IndexedTransaction): CapReservation {
  return { index, sender: valid.sender, gasLimit: valid.tx.gasLimit };
}
