import { bytesToHex, type CallFailure, callFailureOf } from "@gas-waiver/protocol";
import { isObject, nodeErrorIn, type Rpc, type RpcOutcome, resultIn } from "../rpc/rpc.js";
import { type CalledTransaction, callRequest, runCall } from "./calls.js";

/** A transaction that reverted in a block. */
export interface RevertedTransaction extends CalledTransaction {
  /** 32 bytes. */
  readonly hash: Uint8Array;
  readonly blockNumber: bigint;
}

/** The cause of a revert, as a node found it. */
export interface ReplayedFailure extends CallFailure {
  /**
   * `call`: the transaction ran alone on the state of the block before. `trace`: it ran at its place in the block, where
   * the block's earlier transactions count too.
   */
  readonly from: "call" | "trace";
}

/** The time that a node gives a trace. A place late in a full block takes longer, because all before it run again. */
const TRACE_TIMEOUT = "2s";

/**
 * Has a node run a reverted transaction again. A call on the parent block comes first, because it costs one execution; a trace
 * costs those of the whole block before it, and most nodes refuse it.
 * @returns undefined where no node has the state or takes the trace, and where no node answers.
 */
export async function replay(
  rpc: Pick<Rpc, "read">,
  transaction: RevertedTransaction,
): Promise<ReplayedFailure | undefined> {
  const parent = transaction.blockNumber > 0n ? transaction.blockNumber - 1n : 0n;
  const [called] = await rpc.read([runCall(callRequest(transaction), parent)]);
  const error = nodeErrorIn(called);
  const failure = error && callFailureOf(error);
  if (failure) return { ...failure, from: "call" };
  const config = { tracer: "callTracer", tracerConfig: { onlyTopCall: true }, timeout: TRACE_TIMEOUT };
  const params = [bytesToHex(transaction.hash), config];
  const [traced] = await rpc.read([{ method: "debug_traceTransaction", params }]);
  const inTrace = failureInTrace(traced);
  return inTrace && { ...inTrace, from: "trace" };
}

/** The callTracer's top frame has `error` where it failed, and the returned data in `output`. */
function failureInTrace(outcome: RpcOutcome | undefined): CallFailure | undefined {
  const frame = resultIn(outcome);
  if (!isObject(frame)) return undefined;
  const { error: message, output: data } = frame;
  return typeof message === "string"
    ? (callFailureOf({ message, data }) ?? { kind: "halted", message })
    : undefined;
}
