import { classifySendError, type SendVerdict } from "@gas-waiver/protocol";
import { NodeRpcError, type RpcOutcome } from "../rpc/rpc.js";

/** Tells what the outcome of one `eth_sendRawTransaction` means, answered or not. */
export function classifySendOutcome(outcome: RpcOutcome): SendVerdict {
  if (!("error" in outcome)) return { kind: "accepted" };
  const { error } = outcome;
  if (error instanceof NodeRpcError) return classifySendError(error);
  return { kind: error.sent === "no" ? "not now" : "ambiguous", message: error.message };
}
