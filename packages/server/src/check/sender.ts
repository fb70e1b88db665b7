import { bytesEqual, bytesToHex, ProtocolError } from "@gas-waiver/protocol";
import type { SenderWork } from "../store/senderWork.js";

/** A transaction of one sender that keeps every rule which does not depend on the sender's account. */
export interface Candidate {
  /** Its place in the request. */
  readonly index: number;
  readonly innerHash: Uint8Array;
  readonly nonce: bigint;
  /** In wei. */
  readonly value: bigint;
}

/** A sender's account, and what the service has of it. */
export interface SenderState {
  /** 20 bytes. */
  readonly sender: Uint8Array;
  /** The next nonce by the latest block. */
  readonly nonce: bigint;
  /** In wei. */
  readonly balance: bigint;
  readonly work: readonly SenderWork[];
}

/** Of a sender's candidates, by their indexes. */
export interface SenderVerdict {
  /** Why these would not be taken; the others would. */
  readonly refused: ReadonlyMap<number, ProtocolError>;
  /** These are submissions already, or come before in the request (D18). */
  readonly known: ReadonlySet<number>;
}

/**
 * What the sender's account says to its transactions of one request, in the order of their nonces (D7, D20). A nonce
 * counts as filled by what is under way and by an earlier candidate that would be taken.
 */
export function checkSender(
  candidates: readonly Candidate[],
  { sender, nonce: next, balance, work }: SenderState,
): SenderVerdict {
  const refused = new Map<number, ProtocolError>();
  const known = new Set<number>();
  const held = new Map(work.map((one) => [one.nonce, one]));
  let turn = next;
  const advance = () => {
    while (held.has(turn)) turn++;
  };
  let left = balance;
  const inOrder = [...candidates].sort((a, b) =>
    a.nonce === b.nonce ? a.index - b.index : a.nonce < b.nonce ? -1 : 1,
  );
  for (const { index, innerHash, nonce, value } of inOrder) {
    advance();
    const holder = held.get(nonce);
    // D18: the same InnerTx is the same submission, whatever has become of its nonce.
    if (holder && bytesEqual(holder.innerHash, innerHash)) {
      known.add(index);
      continue;
    }
    const error =
      nonceError(nonce, { next, turn, holder }) ??
      (value > left ? balanceError(sender, left, balance, value) : undefined);
    if (error) {
      refused.set(index, error);
      continue;
    }
    left -= value;
    held.set(nonce, { sender, nonce, innerHash, state: "queued" });
  }
  return { refused, known };
}

interface Turn {
  /** The next nonce by the chain, and the first that nothing holds from there on. */
  readonly next: bigint;
  readonly turn: bigint;
  /** What else has the nonce. */
  readonly holder: SenderWork | undefined;
}

function nonceError(nonce: bigint, { next, turn, holder }: Turn): ProtocolError | undefined {
  const values = { nonce: nonce.toString(), next: next.toString() };
  if (nonce < next || holder?.state === "included") {
    return new ProtocolError(
      "NONCE_TOO_LOW",
      `nonce ${nonce} is already used: the account's next is ${next}`,
      values,
    );
  }
  if (holder) {
    const message = `another transaction of this sender with nonce ${nonce} is under way or comes first in this request`;
    return new ProtocolError("NONCE_CONFLICT", message, values);
  }
  if (nonce > turn) {
    const message = `nonce ${nonce} is ahead of the sender's next: nothing has nonce ${turn}`;
    return new ProtocolError("NONCE_GAP", message, { ...values, missing: turn.toString() });
  }
  return undefined;
}

function balanceError(sender: Uint8Array, left: bigint, balance: bigint, value: bigint): ProtocolError {
  const spent = left === balance ? "" : `, of which this request's earlier ones take ${balance - left}`;
  return new ProtocolError(
    "INSUFFICIENT_BALANCE",
    `the sender ${bytesToHex(sender)} has ${balance} wei${spent}; the transaction carries ${value}`,
    { balance: balance.toString(), value: value.toString() },
  );
}
