import { bytesToHex, type Hex, type ProtocolError, type ValidInnerTx } from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/client/nodeClient.js";
import type { Caller, KeyCaps } from "../model/keys/caller.js";
import { capExceeded } from "../model/keys/capExceeded.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import { findDayUse } from "../store/keys/capUse.js";
import type { Store } from "../store/store.js";
import { findSenderSubmissions, type SenderSubmission } from "../store/submissions/senderSubmissions.js";
import { type CapReservation, checkCaps } from "./caps.js";
import { checkSender, type SenderState, type SenderTransaction, type SenderVerdict } from "./sender.js";

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

/** A transaction that keeps every rule which does not depend on its sender's account. */
export interface IndexedTransaction {
  /** Its position in the request. */
  readonly index: number;
  readonly valid: ValidInnerTx;
}

/** The accounts of a request's senders, as chain and store had them at one moment. */
export type SenderAccounts = Awaited<ReturnType<typeof loadAccounts>>;

interface SenderGroup {
  readonly sender: Uint8Array;
  readonly transactions: SenderTransaction[];
}

/** @throws ProtocolError `STORE_UNAVAILABLE`, or RpcUnavailableError if no node answers. */
export async function loadAccounts(
  transactions: readonly IndexedTransaction[],
  {
    store,
    chain,
    chainRef,
  }: { readonly store: Store; readonly chain: NodeClient; readonly chainRef: number },
) {
  const groups = groupBySender(transactions);
  const senders = groups.map(({ sender }) => sender);
  const nonces = groups.flatMap((group) =>
    group.transactions.map(({ nonce }) => ({ sender: group.sender, nonce })),
  );
  // The store comes first. A submission that is included between the two reads counts as unfinished and as used, rather
  // than as neither.
  const work = workBySender(await mapStoreErrors(() => findSenderSubmissions(store, chainRef, nonces)));
  const accounts = await chain.accounts(senders);
  const states = senders.map((sender, i): SenderState => {
    const account = accounts[i] ?? { nonce: 0n, balance: 0n };
    return { sender, ...account, work: work.get(bytesToHex(sender)) ?? [] };
  });
  return {
    /** 20 bytes each. */
    senders,
    /** Checks the request's transactions against the accounts, as if those at the positions `without` did not exist. */
    verdict: (without?: ReadonlySet<number>) => checkGroups(groups, states, without),
  };
}

function groupBySender(transactions: readonly IndexedTransaction[]): SenderGroup[] {
  const groups = new Map<Hex, SenderGroup>();
  for (const { index, valid } of transactions) {
    const { sender, hash, tx } = valid;
    const address = bytesToHex(sender);
    const group = groups.get(address) ?? { sender, transactions: [] };
    group.transactions.push({ index, innerHash: hash, nonce: tx.nonce, value: tx.value });
    groups.set(address, group);
  }
  return [...groups.values()];
}

function workBySender(work: readonly SenderSubmission[]): ReadonlyMap<Hex, readonly SenderSubmission[]> {
  const bySender = new Map<Hex, SenderSubmission[]>();
  for (const submission of work) {
    const address = bytesToHex(submission.sender);
    const ofSender = bySender.get(address);
    if (ofSender) ofSender.push(submission);
    else bySender.set(address, [submission]);
  }
  return bySender;
}

function checkGroups(
  groups: readonly SenderGroup[],
  states: readonly SenderState[],
  without: ReadonlySet<number> | undefined,
): SenderVerdict {
  const refused = new Map<number, ProtocolError>();
  const known = new Set<number>();
  for (const [i, state] of states.entries()) {
    const transactions = groups[i]?.transactions.filter(({ index }) => !without?.has(index)) ?? [];
    const verdict = checkSender(transactions, state);
    for (const [index, error] of verdict.refused) refused.set(index, error);
    for (const index of verdict.known) known.add(index);
  }
  return { refused, known };
}
