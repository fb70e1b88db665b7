import { ProtocolError } from "@gas-waiver/protocol";
import type { Caller, KeyCaps } from "./caller.js";

/** The daily cap that has no room for a transaction (D25). */
export interface CapReached {
  readonly cap: keyof KeyCaps;
  /** The cap, in transactions or gas. `used` and `asked` have the same unit. */
  readonly limit: bigint;
  readonly used: bigint;
  readonly asked: bigint;
  /** When the day ends, by the database's clock. */
  readonly ends: Date;
}

/**
 * The error for a transaction that a daily cap of its API key, or of its sender under that key, has no room for (D25). A client with a
 * publishable key is not told how much others have used.
 */
export function capExceeded(
  { cap, limit, used, asked, ends }: CapReached,
  { publishable }: Pick<Caller, "publishable">,
): ProtocolError {
  const ofSender = cap === "senderTransactions" || cap === "senderGas";
  const unit = cap === "gas" || cap === "senderGas" ? "gas" : "transactions";
  const whose = ofSender ? "this sender under this API key" : "this API key";
  if (publishable !== undefined) {
    const message = `the daily cap of ${whose} in ${unit} has no room; the day ends at ${ends.toISOString()}`;
    return new ProtocolError("CAP_EXCEEDED", message, { cap, ends: ends.toISOString() });
  }
  const message = `the daily cap of ${whose} is ${limit} ${unit}: ${used} used, ${asked} asked; the day ends at ${ends.toISOString()}`;
  const amounts = { limit: limit.toString(), used: used.toString(), asked: asked.toString() };
  return new ProtocolError("CAP_EXCEEDED", message, { cap, ...amounts, ends: ends.toISOString() });
}
