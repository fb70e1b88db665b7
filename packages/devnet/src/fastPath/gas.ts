import { gasBounds, highestGasPrice, type SignedTransaction } from "@gas-waiver/protocol";
import type { Frame } from "./frame.js";

/** At most this part of the gas that was used is refunded (EIP-3529). */
const REFUND_QUOTIENT = 5;

/** The bounds of a transaction's gas as Numbers, in which the fast path counts. */
export interface FrameGas {
  readonly intrinsic: number;
  readonly floor: number;
}

export function frameGasOf(tx: SignedTransaction): FrameGas {
  const { intrinsic, floor } = gasBounds(tx);
  return { intrinsic: Number(intrinsic), floor: Number(floor) };
}

/** @param frame the call at its end; undefined if no code ran. */
export function gasUsedBy(
  { gasLimit }: SignedTransaction,
  { intrinsic, floor }: FrameGas,
  frame: Frame | undefined,
): number {
  const used = frame === undefined ? intrinsic : Number(gasLimit) - frame.gasLeft;
  const refund = frame?.ending === "return" ? Math.min(frame.refund, Math.floor(used / REFUND_QUOTIENT)) : 0;
  return Math.max(used - refund, floor);
}

/** The wei that a sender needs at least. */
export function highestCost(tx: SignedTransaction): bigint {
  return tx.gasLimit * highestGasPrice(tx) + tx.value;
}
