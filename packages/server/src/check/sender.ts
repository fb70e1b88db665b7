import { bytesEqual, bytesToHex, ProtocolError } from "@gas-waiver/protocol";
import type { SenderSubmission } from "../store/submissions/senderSubmissions.js";

/** A transaction of one sender that keeps every rule which does not depend on the sender's account. */
export interface SenderTransaction {
  /** Its position in the request. */
  readonly index: number;
  readonly innerHash: Uint8Array;
  readonly nonce: bigint;
  /** The value in wei. */
  readonly value: bigint;
}

/** A sender's account on the chain, and its submissions in the store. */
export interface SenderState {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** The account's next nonce, by the latest block. */
  readonly nonce: bigint;
  /** The balance in wei. */
  readonly balance: bigint;
  readonly work: readonly SenderSubmission[];
}

/** The verdict on a sender's transactions, by their positions in the request. */
export interface SenderVerdict {
  /** The transactions that would be refused. All others would be accepted. */
  readonly refused: ReadonlyMap<number, ProtocolError>;
  /** The transactions that are submissions already, or repeat an earlier one of the request (D18). */
  readonly known: ReadonlySet<number>;
}

/**
 * Checks the transactions of one sender against its account, in the order of their nonces (D7, D20). A submission of the
 * sender fills its nonce, and so does an earlier transaction of the request that would be accepted. Pure.
 * @example
 * ```ts
 * const { refused } = checkSender(transactions, { sender, nonce: 7n, balance: 0n, work: [] });
 * for (const [index, error] of refused) console.log(index, error.reason);
 * ```
 */
export function checkSender(
  transactions: readonly SenderTransaction[],
  { sender, nonce: accountNonce, balance, work }: SenderState,
): SenderVerdict {
  const refused = new Map<number, ProtocolError>();
  const known = new Set<number>();
  const holders = new Map(work.map((submission) => [submission.nonce, submission]));
  let firstFree = accountNonce;
  let remaining = balance;
  for (const { index, innerHash, nonce, value } of [...transactions].sort(byNonce)) {
    while (holders.has(firstFree)) firstFree++;
    const holder = holders.get(nonce);
    // D18: the same InnerTx is the same submission, even if its nonce is used by now.
    if (holder && bytesEqual(holder.innerHash, innerHash)) {
      known.add(index);
      continue;
    }
    const error =
      nonceError(nonce, { accountNonce, firstFree, holder }) ??
      (value > remaining ? balanceError(sender, remaining, balance, value) : undefined);
    if (error) {
      refused.set(index, error);
      continue;
    }
    remaining -= value;
    holders.set(nonce, { sender, nonce, innerHash, state: "queued" });
  }
  return { refused, known };
}

function byNonce(a: SenderTransaction, b: SenderTransaction): number {
  return a.nonce === b.nonce ? a.index - b.index : a.nonce < b.nonce ? -1 : 1;
}

interface NonceState {
  /** The account's next nonce. */
  readonly accountNonce: bigint;
  /** The first nonce from there on that no submission and no earlier transaction of the request has. */
  readonly firstFree: bigint;
  /** The submission, or earlier transaction, that has the nonce. */
  readonly holder: SenderSubmission | undefined;
}

function nonceError(
  nonce: bigint,
  { accountNonce, firstFree, holder }: NonceState,
): ProtocolError | undefined {
  const values = { nonce: nonce.toString(), expected: accountNonce.toString() };
  if (nonce < accountNonce || holder?.state === "included") {
    const message = `nonce ${nonce} is already used: the account's next is ${accountNonce}`;
    return new ProtocolError("NONCE_TOO_LOW", message, values);
  }
  if (holder) {
    const message = `another transaction of this sender with nonce ${nonce} is in flight or comes first in this request`;
    return new ProtocolError("NONCE_CONFLICT", message, values);
  }
  if (nonce > firstFree) {
    const message = `nonce ${nonce} is ahead of the sender's next: nothing has nonce ${firstFree}`;
    return new ProtocolError("NONCE_GAP", message, {
      nonce: nonce.toString(),
      missing: firstFree.toString(),
      missingHolder: "unknown",
    });
  }
  return undefined;
}

function balanceError(sender: Uint8Array, remaining: bigint, balance: bigint, value: bigint): ProtocolError {
  const spent =
    remaining === balance ? "" : `, of which this request's earlier ones take ${balance - remaining}`;
  return new ProtocolError(
    "INSUFFICIENT_BALANCE",
    `the sender ${bytesToHex(sender)} has ${balance} wei${spent}; the transaction carries ${value}`,
    { balance: balance.toString(), value: value.toString() },
  );
}
