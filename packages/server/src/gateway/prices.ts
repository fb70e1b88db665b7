import { isObject } from "../chain/rpc/rpc.js";

// The shape of a chain that has no fees and no base fee. Wallets then sign legacy transactions with the price that
// `eth_gasPrice` quotes: 0 (docs/design/gateway.md).

export const NO_PRICE = "0x0";

const PRICE_FIELDS = ["gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "maxFeePerBlobGas"];

/**
 * Removes the price of a call, so that a sender without balance can make it. Nodes run a call without a price for
 * nothing, whatever the base fee.
 */
export function withoutPrice(call: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(call).filter(([field]) => !PRICE_FIELDS.includes(field)));
}

/** Removes the base fee of a block or header, which makes wallets sign EIP-1559 transactions. */
export function withoutBaseFee(block: unknown): unknown {
  if (!isObject(block) || !("baseFeePerGas" in block)) return block;
  const { baseFeePerGas: _, ...rest } = block;
  return rest;
}

/** Writes 0 for every fee of the answer to `eth_feeHistory`, as nodes do for blocks from before EIP-1559. */
export function withoutFees(history: unknown): unknown {
  if (!isObject(history)) return history;
  const { baseFeePerGas, reward } = history;
  return {
    ...history,
    ...(Array.isArray(baseFeePerGas) && { baseFeePerGas: baseFeePerGas.map(() => NO_PRICE) }),
    ...(Array.isArray(reward) && {
      reward: reward.map((ofBlock) => (Array.isArray(ofBlock) ? ofBlock.map(() => NO_PRICE) : ofBlock)),
    }),
  };
}
