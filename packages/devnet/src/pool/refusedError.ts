import type { ErrorValues, Reason } from "@gas-waiver/protocol";

/**
 * Why the node does not take a transaction that is no wrapper, or any transaction that is well-formed and
 * not welcome. Refusals of wrappers carry the protocol's own reasons beside these.
 */
export const NODE_REASONS = [
  "ALREADY_KNOWN",
  "REPLACEMENT_UNDERPRICED",
  "POOL_FULL",
  "TRANSACTION_TOO_LARGE",
  "GAS_PRICE_BELOW_MINIMUM",
  "GAS_LIMIT_ABOVE_BLOCK",
  "INSUFFICIENT_FUNDS",
  "SENDER_IS_CONTRACT",
  "TIMESTAMP_IN_THE_PAST",
] as const;

export type NodeReason = (typeof NODE_REASONS)[number];

/** A transaction that the node does not take. It has changed nothing. */
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
