import { assertWaiverSignature, bytesToHex, crypto, type WaiverAccount } from "@gas-waiver/protocol";
import { StartError } from "../model/errors.js";
import { DEFAULTS } from "../model/options/options.js";
import { callCustody } from "../signing/custodyCalls.js";

/** No transaction has this form, so its signature is of no use to anybody. */
const MESSAGE = new TextEncoder().encode("gas-waiver: a signature to see whether the custody works");

/**
 * Has a custody sign once, so that a wrong one shows before the service takes work.
 * @throws {@link StartError} if it does not sign within the time, or with another key.
 * @example
 * ```ts
 * for (const waiver of waivers) await checkCustody(waiver);
 * ```
 */
export async function checkCustody(
  account: WaiverAccount,
  timeoutMs = DEFAULTS.custodyTimeoutMs,
): Promise<void> {
  const waiver = bytesToHex(account.address);
  const hash = crypto.keccak256(MESSAGE);
  const outcome = await callCustody(account, { hash, message: MESSAGE }, timeoutMs);
  if (outcome.kind === "throttled") return;
  if (outcome.kind !== "signature")
    throw new StartError(`the custody of ${waiver} is of no use: ${outcome.error.message}`);
  try {
    assertWaiverSignature(hash, outcome.signature, account.address);
  } catch (error) {
    throw new StartError(`the custody of ${waiver} is of no use: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
