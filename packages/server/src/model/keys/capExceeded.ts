import { ProtocolError } from "@gas-waiver/protocol";
import type { Failure } from "../submission/submission.js";
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
 * The failure of a transaction that a daily cap of its API key, or of its sender under that key, has no room for (D25). A client with
 * a publishable key is not told how much others have used.
 */
export function capFailure({ cap, limit, used, asked, ends }: CapReached, isPublishable: boolean): Failure {
  const ofSender = cap === "senderTransactions" || cap === "senderGas";
  const unit = cap === "gas" || cap === "senderGas" ? "gas" : "transactions";
  const whose = ofSender ? "this sender under this API key" : "this API key";
  const end = { cap, ends: ends.toISOString() };
  if (isPublishable) {
    const message = `the daily cap of ${whose} in ${unit} has no room; the day ends at ${end.ends}`;
    return { reason: "CAP_EXCEEDED", message, values: end };
  }
  const message = `the daily cap of ${whose} is ${limit} ${unit}: ${used} used, ${asked} asked; the day ends at ${end.ends}`;
  const amounts = { limit: limit.toString(), used: used.toString(), asked: asked.toString() };
  return { reason: "CAP_EXCEEDED", message, values: { ...end, ...amounts } };
}

/** {@link capFailure} as the error of a request. */
export function capExceeded(
  reached: CapReached,
  { publishable }: Pick<Caller, "publishable">,
): ProtocolError {
  const { reason, message, values } = capFailure(reached, publishable !== undefined);
  return new ProtocolError(reason, message, values);
}
