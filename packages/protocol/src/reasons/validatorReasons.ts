import type { Reason } from "./index.js";
import { INNER_TX_RULES } from "./innerTxRules.js";
import { UNREADABLE } from "./unreadable.js";

/** The reasons that validators give for a wrapper that fails a check of D7, in `data.reason` of their error. */
const VALIDATOR_REASONS: ReadonlySet<string> = new Set<Reason>([
  ...(Object.keys(UNREADABLE) as Reason[]).filter((reason) => reason !== "INVALID_HEX"),
  // GAS_LIMIT_TOO_HIGH and DATA_TOO_LONG are limits of the service, not rules of the chain.
  ...(Object.keys(INNER_TX_RULES) as Reason[]).filter(
    (reason) => reason !== "GAS_LIMIT_TOO_HIGH" && reason !== "DATA_TOO_LONG",
  ),
  "NONCE_TOO_LOW",
  "NONCE_GAP",
  "INSUFFICIENT_BALANCE",
  "WRAPPER_INVALID",
  "WRAPPER_INVALID_SIGNATURE",
  "WRAPPER_WRONG_CHAIN_ID",
  "WAIVER_NOT_REGISTERED",
  "WRAPPER_NON_ZERO_GAS_PRICE",
  "WRAPPER_NON_ZERO_VALUE",
  "WRAPPER_NONCE_TOO_LOW",
  "WRAPPER_NONCE_GAP",
  "WRAPPER_GAS_LIMIT_TOO_LOW",
]);

/** Tells whether a validator gives the reason for a wrapper that it refuses (D7, D13). */
export function isValidatorReason(reason: string): reason is Reason {
  return VALIDATOR_REASONS.has(reason);
}
