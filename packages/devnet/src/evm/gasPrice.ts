/** The price of gas in a transaction, in wei: a single one, or the two fees of EIP-1559. */
export type Fees =
  | { readonly gasPrice: bigint }
  | { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/**
 * The price per gas in wei that the sender pays. With a base fee, nobody pays a tip: the price is the base fee, or the
 * cap if that is lower, which the pool refuses. Without one, the tip is the price.
 */
export function effectiveGasPrice(fees: Fees, baseFee = 0n): bigint {
  const [tip, cap] = feesOf(fees);
  const price = baseFee === 0n ? tip : baseFee;
  return price < cap ? price : cap;
}

/** The tip and the fee cap in wei per gas. They are equal for a transaction with a single price. */
export function feesOf(fees: Fees): readonly [tip: bigint, cap: bigint] {
  return "maxFeePerGas" in fees
    ? [fees.maxPriorityFeePerGas, fees.maxFeePerGas]
    : [fees.gasPrice, fees.gasPrice];
}
