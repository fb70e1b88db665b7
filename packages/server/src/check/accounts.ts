import { bytesToHex, type Hex, type ProtocolError, type ValidInnerTx } from "@gas-waiver/protocol";
import type { NodeClient } from "../chain/nodeClient.js";
import { storeErrors } from "../model/unavailable.js";
import { type SenderWork, senderWork } from "../store/senderWork.js";
import type { Store } from "../store/store.js";
import { type Candidate, checkSender, type SenderState, type SenderVerdict } from "./sender.js";

/** A transaction of a request that keeps every rule which does not depend on its sender's account. */
export interface IndexedTransaction {
  readonly index: number;
  readonly valid: ValidInnerTx;
}

/** The accounts of the senders of a request, as chain and store had them at one moment. */
export interface SenderAccounts {
  /** 20 bytes each. */
  readonly senders: readonly Uint8Array[];
  /** What the accounts say to the request's transactions, without some of them. */
  verdict(without?: ReadonlySet<number>): SenderVerdict;
}

/** @throws ProtocolError `STORE_UNAVAILABLE`, or RpcUnavailableError if no node answers. */
export async function loadAccounts(
  transactions: readonly IndexedTransaction[],
  {
    store,
    chain,
    chainRef,
  }: { readonly store: Store; readonly chain: NodeClient; readonly chainRef: number },
): Promise<SenderAccounts> {
  const bySender = new Map<Hex, { readonly sender: Uint8Array; readonly candidates: Candidate[] }>();
  for (const { index, valid } of transactions) {
    const { sender, hash, tx } = valid;
    const name = bytesToHex(sender);
    const group = bySender.get(name) ?? { sender, candidates: [] };
    group.candidates.push({ index, innerHash: hash, nonce: tx.nonce, value: tx.value });
    bySender.set(name, group);
  }
  const groups = [...bySender.values()];
  const senders = groups.map(({ sender }) => sender);
  const asked = groups.flatMap(({ sender, candidates }) =>
    candidates.map(({ nonce }) => ({ sender, nonce })),
  );
  // After the store: what is settled in between counts as under way and as used, never as neither.
  const work = new Map<Hex, SenderWork[]>();
  for (const one of await storeErrors(() => senderWork(store, chainRef, asked))) {
    const name = bytesToHex(one.sender);
    const ofSender = work.get(name);
    if (ofSender) ofSender.push(one);
    else work.set(name, [one]);
  }
  const accounts = await chain.accounts(senders);
  const states = senders.map((sender, i): SenderState => {
    const account = accounts[i] ?? { nonce: 0n, balance: 0n };
    return { sender, ...account, work: work.get(bytesToHex(sender)) ?? [] };
  });
  return {
    senders,
    verdict(without) {
      const refused = new Map<number, ProtocolError>();
      const known = new Set<number>();
      for (const [i, state] of states.entries()) {
        const candidates = groups[i]?.candidates.filter(({ index }) => !without?.has(index)) ?? [];
        const verdict = checkSender(candidates, state);
        for (const [index, error] of verdict.refused) refused.set(index, error);
        for (const index of verdict.known) known.add(index);
      }
      return { refused, known };
    },
  };
}
