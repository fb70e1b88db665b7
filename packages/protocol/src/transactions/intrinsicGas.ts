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

/** The parts of a transaction on which its least gas depends; an unsigned transaction has them. */
export interface GasFields {
  /** Undefined for the creation of a contract. */
  readonly to: Uint8Array | undefined;
  readonly data: Uint8Array;
  readonly accessList?: readonly { readonly storageKeys: readonly unknown[] }[] | undefined;
}

/** The gas that a transaction uses at least. */
export interface GasBounds {
  /** The gas that it uses before its code runs (EIP-2, EIP-2028, EIP-2930, EIP-3860). */
  readonly intrinsic: bigint;
  /** The gas that its calldata costs at least (EIP-7623). */
  readonly floor: bigint;
}

/**
 * Returns the two bounds of a transaction's gas. A validator wants a gas limit that reaches both.
 * @example
 * ```ts
 * const { intrinsic, floor } = gasBounds(unsigned);
 * ```
 */
export function gasBounds({ to, data, accessList = [] }: GasFields): GasBounds {
  const tokens = calldataTokens(data);
  let intrinsic = TRANSACTION + STANDARD_TOKEN * tokens;
  if (to === undefined) intrinsic += CREATION + INIT_CODE_WORD * BigInt(Math.ceil(data.length / 32));
  for (const { storageKeys } of accessList) {
    intrinsic += ACCESS_LIST_ADDRESS + ACCESS_LIST_STORAGE_KEY * BigInt(storageKeys.length);
  }
  return { intrinsic, floor: TRANSACTION + FLOOR_TOKEN * tokens };
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
export function intrinsicGas(tx: GasFields): bigint {
  const { intrinsic, floor } = gasBounds(tx);
  return intrinsic > floor ? intrinsic : floor;
}
