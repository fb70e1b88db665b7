import { highestGasPrice, type SignedTransaction } from "@gas-waiver/protocol";
import type { Frame } from "./frame.js";

// The gas of a transaction outside the code that it runs. Prices in gas.

const TRANSACTION = 21_000;
/** Each zero byte of calldata is one token, any other byte four (EIP-7623). */
const TOKEN = 4;
const FLOOR_TOKEN = 10;
const ACCESS_LIST_ADDRESS = 2_400;
const ACCESS_LIST_STORAGE_KEY = 1_900;
/** At most this part of the gas that was used is refunded (EIP-3529). */
const REFUND_QUOTIENT = 5;

/** The gas that a transaction with a target uses at least. */
export interface GasBounds {
  /** The gas that it uses before its code runs (EIP-2028, EIP-2930). */
  readonly intrinsic: number;
  /** The gas that its calldata costs at least (EIP-7623). */
  readonly floor: number;
}

export function gasBoundsOf(tx: SignedTransaction): GasBounds {
  let tokens = tx.data.length;
  for (const byte of tx.data) if (byte !== 0) tokens += 3;
  let intrinsic = TRANSACTION + TOKEN * tokens;
  if (tx.type !== "legacy") {
    for (const { storageKeys } of tx.accessList) {
      intrinsic += ACCESS_LIST_ADDRESS + ACCESS_LIST_STORAGE_KEY * storageKeys.length;
    }
  }
  return { intrinsic, floor: TRANSACTION + FLOOR_TOKEN * tokens };
}

/** @param frame the call at its end; undefined if no code ran. */
export function gasUsedBy(
  { gasLimit }: SignedTransaction,
  { intrinsic, floor }: GasBounds,
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
