import {
  assertInnerTx,
  type InnerTx,
  maxWrapperLength,
  ProtocolError,
  parseInnerTx,
  type ValidInnerTx,
} from "@gas-waiver/protocol";
import type { ServiceRules } from "./rules.js";

/** The outcome for one transaction of a request: it keeps every rule, or the error names the first one that it breaks. */
export type Validation =
  | { readonly valid: ValidInnerTx }
  | {
      readonly error: ProtocolError;
      /** The transaction that breaks the rule; undefined if its bytes could not be read. */
      readonly tx: InnerTx | undefined;
    };

/**
 * Decodes a transaction and checks it against the rules: its form, its signature, and what the waivers and the key may
 * send (D3, D4). Pure: it knows nothing of the sender's account.
 * @param text the signed InnerTx in 0x hex.
 */
export function validateTransaction(text: string, rules: ServiceRules): Validation {
  let tx: InnerTx | undefined;
  try {
    assertReadable(text, rules);
    tx = parseInnerTx(text);
    return { valid: assertInnerTx(tx, rules) };
  } catch (error) {
    if (error instanceof ProtocolError) return { error: withRemedy(error, rules), tx };
    throw error;
  }
}

/** A text that would make a wrapper this many times too large is not read: to decode it takes as long as some hundred transactions. */
const TIMES_TOO_LARGE = 4;

/** @throws {@link ProtocolError} `TRANSACTION_TOO_LARGE` */
function assertReadable(
  { length }: string,
  { maxWrapperBytes = Number.POSITIVE_INFINITY }: ServiceRules,
): void {
  const bytes = Math.floor(length / 2) - 1;
  if (bytes <= TIMES_TOO_LARGE * maxWrapperBytes) return;
  const wrapperBytes = maxWrapperLength(bytes);
  const message = `the transaction has ${bytes} bytes, far above the limit of ${maxWrapperBytes} for its wrapper`;
  throw new ProtocolError("TRANSACTION_TOO_LARGE", message, { bytes, wrapperBytes, maxWrapperBytes });
}

const POLICY_REASONS: ReadonlySet<string> = new Set(["TARGET_NOT_ALLOWED", "SELECTOR_NOT_ALLOWED"]);

/** Adds the remedy to a refusal by the waivers' policy, and to none by the scope of an API key. */
function withRemedy(error: ProtocolError, { policyName, policyRemedy }: ServiceRules): ProtocolError {
  if (policyRemedy === undefined || policyName === undefined || !POLICY_REASONS.has(error.reason))
    return error;
  if (!error.message.includes(policyName)) return error;
  const message = `${error.message}; ${policyRemedy(String(error.values.target))}`;
  return new ProtocolError(error.reason, message, error.values);
}
