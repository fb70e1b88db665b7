import { ProtocolError } from "@gas-waiver/protocol";
import type { CapReached } from "../store/acceptCapped.js";

/** D25: a daily cap of the key, or of each sender under it, has no room for a transaction. */
export function capExceeded({ cap, limit, used, asked, ends }: CapReached): ProtocolError {
  const ofSender = cap === "senderTransactions" || cap === "senderGas";
  const unit = cap === "gas" || cap === "senderGas" ? "gas" : "transactions";
  const whose = ofSender ? "this sender under this API key" : "this API key";
  const message = `the daily cap of ${whose} is ${limit} ${unit}: ${used} used, ${asked} asked; the day ends at ${ends.toISOString()}`;
  const amounts = { limit: limit.toString(), used: used.toString(), asked: asked.toString() };
  return new ProtocolError("CAP_EXCEEDED", message, { cap, ...amounts, ends: ends.toISOString() });
}
