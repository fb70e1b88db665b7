import { ProtocolError } from "@gas-waiver/protocol";
import type { KeyCaps } from "./caller.js";

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
 * The error for a transaction that a daily cap of its API key, or of its sender under that key, has no room for (D25).
 */
export function capExceeded({ cap, limit, used, asked, ends }: CapReached): ProtocolError {
  const ofSender = cap === "senderTransactions" || cap === "senderGas";
  const unit = cap === "gas" || cap === "senderGas" ? "gas" : "transactions";
  const whose = ofSender ? "this sender under this API key" : "this API key";
  const message = `the daily cap of ${whose} is ${limit} ${unit}: ${used} used, ${asked} asked; the day ends at ${ends.toISOString()}`;
  const amounts = { limit: limit.toString(), used: used.toString(), asked: asked.toString() };
  return new ProtocolError("CAP_EXCEEDED", message, { cap, ...amounts, ends: ends.toISOString() });
}
