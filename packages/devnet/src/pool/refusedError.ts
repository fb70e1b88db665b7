import type { ErrorValues, Reason } from "@gas-waiver/protocol";

/**
 * The reasons of the node's own refusals. Wrappers and encodings are refused with the reasons of the protocol package.
 */
export const NODE_REASONS = [
  "ALREADY_KNOWN",
  "REPLACEMENT_UNDERPRICED",
  "POOL_FULL",
  "TRANSACTION_TOO_LARGE",
  "GAS_PRICE_BELOW_MINIMUM",
  "GAS_LIMIT_ABOVE_BLOCK",
  "INSUFFICIENT_FUNDS",
  "TIMESTAMP_IN_THE_PAST",
] as const;

export type NodeReason = (typeof NODE_REASONS)[number];

/** Thrown for a transaction, or a timestamp, that the node refuses, or by a fault that claims so. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";

  constructor(
    readonly reason: NodeReason | Reason,
    message: string,
    readonly values: ErrorValues = {},
  ) {
    super(message);
  }
}
