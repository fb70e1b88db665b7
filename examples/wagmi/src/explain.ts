import { gatewayRefusal, WalletNetworkError } from "@gas-waiver/client";
import { BaseError, UserRejectedRequestError } from "viem";

/** The reasons of the service in words for users. */
const WORDS: Readonly<Record<string, string>> = {
  TARGET_NOT_ALLOWED: "This app does not pay for calls of that contract.",
  SELECTOR_NOT_ALLOWED: "This app does not pay for that kind of call.",
  INSUFFICIENT_BALANCE: "Your account does not hold the amount that this would send.",
  NONCE_TOO_LOW: "Your wallet has sent something else in between. Try again.",
  RATE_EXCEEDED: "Too much at once. Try again in a minute.",
  CAP_EXCEEDED: "You have used today's free transactions. Tomorrow there are new ones.",
};

/** Says in plain words why sending failed. */
export function explain(error: unknown): string {
  const refusal = gatewayRefusal(error);
  if (refusal) return WORDS[refusal.reason] ?? `The service refused: ${refusal.message}.`;
  const wrapped = (kind: typeof UserRejectedRequestError | typeof WalletNetworkError) =>
    error instanceof BaseError ? error.walk((one) => one instanceof kind) : null;
  if (wrapped(UserRejectedRequestError)) return "You declined it in the wallet. Nothing was sent.";
  const network = error instanceof WalletNetworkError ? error : wrapped(WalletNetworkError);
  if (network) return `Nothing was sent: ${network.message}.`;
  return error instanceof BaseError ? error.shortMessage : String(error);
}
