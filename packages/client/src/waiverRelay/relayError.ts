import type { ErrorValues, Hex } from "@gas-waiver/protocol";
import { WaiverClientError } from "../errors.js";
import type { Failure } from "./entry.js";

/** The codes of the chain's public library for those who send with a waiver of their own, and `TIMEOUT`. */
export type RelayErrorCode =
  | "BROADCAST_FAILED"
  | "INVALID_TRANSACTION"
  | "INVALID_SIGNATURE"
  | "UNSUPPORTED_TX_TYPE"
  | "WRONG_CHAIN_ID"
  | "NON_ZERO_GAS_PRICE"
  | "GAS_LIMIT_EXCEEDED"
  | "DATA_TOO_LARGE"
  | "TARGET_NOT_ALLOWED"
  | "TIMEOUT";

const CODES: Readonly<Record<string, RelayErrorCode>> = {
  INVALID_HEX: "INVALID_TRANSACTION",
  EMPTY_TRANSACTION: "INVALID_TRANSACTION",
  MALFORMED_RLP: "INVALID_TRANSACTION",
  NON_CANONICAL_RLP: "INVALID_TRANSACTION",
  MALFORMED_TRANSACTION: "INVALID_TRANSACTION",
  NONCE_OUT_OF_RANGE: "INVALID_TRANSACTION",
  CONTRACT_CREATION: "INVALID_TRANSACTION",
  TARGET_IS_MARKER: "INVALID_TRANSACTION",
  GAS_LIMIT_TOO_LOW: "INVALID_TRANSACTION",
  INVALID_SIGNATURE: "INVALID_SIGNATURE",
  HIGH_S_SIGNATURE: "INVALID_SIGNATURE",
  UNSUPPORTED_TYPE: "UNSUPPORTED_TX_TYPE",
  CUSTOM_TX_UNSUPPORTED: "UNSUPPORTED_TX_TYPE",
  UNPROTECTED_SIGNATURE: "WRONG_CHAIN_ID",
  WRONG_CHAIN_ID: "WRONG_CHAIN_ID",
  NON_ZERO_GAS_PRICE: "NON_ZERO_GAS_PRICE",
  GAS_LIMIT_TOO_HIGH: "GAS_LIMIT_EXCEEDED",
  DATA_TOO_LONG: "DATA_TOO_LARGE",
  TRANSACTION_TOO_LARGE: "DATA_TOO_LARGE",
  TARGET_NOT_ALLOWED: "TARGET_NOT_ALLOWED",
  SELECTOR_NOT_ALLOWED: "TARGET_NOT_ALLOWED",
};

interface RelayErrorOptions extends ErrorOptions {
  readonly txHash?: Hex | undefined;
  readonly isInDoubt?: boolean;
}

/**
 * Thrown for one transaction that a relay has not carried. With the code `TIMEOUT` it may still run: `inDoubt` has the bytes,
 * and another call with them, or with the same idempotency key, goes on.
 */
export class WaiverRelayError extends WaiverClientError {
  override readonly name = "WaiverRelayError";
  readonly code: RelayErrorCode;
  /** The stable name of the rule that failed. */
  readonly reason: string;
  /** The values involved. */
  readonly values: ErrorValues;
  /** The hash of the user's transaction, where it is signed. */
  readonly txHash: string | undefined;

  constructor(
    { reason, message, values = {} }: Failure,
    { txHash, isInDoubt = false, ...options }: RelayErrorOptions = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.values = values;
    this.txHash = txHash;
    this.code = isInDoubt ? "TIMEOUT" : (CODES[reason] ?? "BROADCAST_FAILED");
  }

  /** Returns the error of a transaction that may still run. */
  static inDoubt(signed: Hex, txHash: Hex, trouble: Failure | undefined): WaiverRelayError {
    const words = trouble ? `; the last trouble was: ${trouble.message}` : "";
    const message = `it is not known whether a node has ${txHash}${words}; call again with the same bytes or key`;
    const error = new WaiverRelayError({ reason: "NOT_INCLUDED", message }, { txHash, isInDoubt: true });
    return Object.assign(error, { inDoubt: [{ index: 0, signed, txHash }] });
  }
}
