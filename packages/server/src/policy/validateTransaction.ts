import {
  assertInnerTx,
  type InnerTxRules,
  ProtocolError,
  parseInnerTx,
  type ValidInnerTx,
} from "@gas-waiver/protocol";

/** The outcome for one transaction of a request: it keeps every rule, or the error names the first one that it breaks. */
export type Validation = { readonly valid: ValidInnerTx } | { readonly error: ProtocolError };

/**
 * Decodes a transaction and checks it against the rules: its form, its signature, and what the waivers and the key may
 * send (D3, D4). Pure: it knows nothing of the sender's account.
 * @param text the signed InnerTx in 0x hex.
 */
export function validateTransaction(text: string, rules: InnerTxRules): Validation {
  try {
    return { valid: assertInnerTx(parseInnerTx(text), rules) };
  } catch (error) {
    if (error instanceof ProtocolError) return { error };
    throw error;
  }
}
