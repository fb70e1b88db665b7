import { classifySendError, type SendVerdict } from "@gas-waiver/protocol";
import { RpcError, type RpcOutcome } from "./rpc.js";

/** Tells what the outcome of one `eth_sendRawTransaction` means, answered or not. */
export function classifySendOutcome(outcome: RpcOutcome): SendVerdict {
  if (!("error" in outcome)) return { kind: "accepted" };
  const { error } = outcome;
  if (error instanceof RpcError) return classifySendError(error);
  return { kind: error.sent === "no" ? "not now" : "ambiguous", message: error.message };
}
