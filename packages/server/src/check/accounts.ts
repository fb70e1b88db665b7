import { bytesToHex, type Hex, type ProtocolError, type ValidInnerTx } from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/client/nodeClient.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import type { Store } from "../store/store.js";
import { findSenderSubmissions, type SenderSubmission } from "../store/submissions/senderSubmissions.js";
import { checkSender, type SenderState, type SenderTransaction, type SenderVerdict } from "./sender.js";

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
