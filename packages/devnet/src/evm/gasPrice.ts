/** The price of gas in a transaction, in wei: a single one, or the two fees of EIP-1559. */
export type Fees =
  | { readonly gasPrice: bigint }
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** The price per gas in wei that the sender pays with a base fee of 0. */
export function effectiveGasPrice(fees: Fees): bigint {
  const [tip, cap] = feesOf(fees);
  return tip < cap ? tip : cap;
}

/** The tip and the fee cap in wei per gas. They are equal for a transaction with a single price. */
export function feesOf(fees: Fees): readonly [tip: bigint, cap: bigint] {
  return "maxFeePerGas" in fees
    ? [fees.maxPriorityFeePerGas, fees.maxFeePerGas]
    : [fees.gasPrice, fees.gasPrice];
}
