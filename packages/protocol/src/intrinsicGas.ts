import type { UnsignedTransaction } from "./SignedTransaction.js";

// Prices in gas.
const TRANSACTION = 21_000n;
const CREATION = 32_000n; // EIP-2
const INIT_CODE_WORD = 2n; // EIP-3860
const ACCESS_LIST_ADDRESS = 2_400n; // EIP-2930
const ACCESS_LIST_STORAGE_KEY = 1_900n;
const STANDARD_TOKEN = 4n; // EIP-7623: a zero byte is one token, any other byte four
const FLOOR_TOKEN = 10n;

function calldataTokens(data: Uint8Array): bigint {
  let nonZero = 0;
  for (const byte of data) if (byte !== 0) nonZero++;
  return BigInt(data.length + 3 * nonZero);
}

/**
 * Returns the least gas limit of a transaction, in gas. That is 21,000 with the price of its calldata (EIP-2028: 4
 * a zero byte, 16 any other), of its access list (EIP-2930) and of a creation (EIP-2, EIP-3860), or the floor that the
 * calldata sets (EIP-7623), whichever is higher.
 * @example
 * ```ts
 * const gasLimit = intrinsicGas(unsigned) + 50_000n;
 * ```
 */
export function intrinsicGas(tx: UnsignedTransaction): bigint {
  const tokens = calldataTokens(tx.data);
  let gas = TRANSACTION + STANDARD_TOKEN * tokens;
  if (tx.to === undefined) gas += CREATION + INIT_CODE_WORD * BigInt(Math.ceil(tx.data.length / 32));
  if (tx.type !== "legacy") {
    for (const { storageKeys } of tx.accessList) {
      gas += ACCESS_LIST_ADDRESS + ACCESS_LIST_STORAGE_KEY * BigInt(storageKeys.length);
    }
  }
  const floor = TRANSACTION + FLOOR_TOKEN * tokens;
  return gas > floor ? gas : floor;
}
