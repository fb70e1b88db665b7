import { bytesToHex, type Hex, revertText } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { IncludedTransaction } from "../block/included.js";
import { decodeForEvm } from "../block/transaction.js";
import type { Chain } from "../chain/chain.js";
import { traceBlock } from "../chain/replay.js";
import { type CallFrame, CallTracer } from "../evm/callTracer.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { boolean, hash, type Members, object, optional, shortJson } from "../rpc/params.js";
import { assertValueCovered, callGas, readCallRequest, toCall } from "./callRequest.js";
import { requireBlock, requireState } from "./findBlock.js";
import { toQuantity } from "./format.js";
import { applyOverrides, readBlockOverrides } from "./overrides.js";
import { failureText } from "./runCall.js";

interface TraceOptions {
  readonly onlyTopCall: boolean;
  readonly withLog: boolean;
}

/** The debug_trace methods, with the callTracer that explorers and wallets use. */
export function traceMethods(chain: Chain): Methods {
  return {
    debug_traceTransaction: async ([txHash, options]) => {
      const requestedHash = hash(txHash);
      const settings = readOptions(options);
      const located = chain.ledger.transaction(requestedHash);
      if (located === undefined)
        throw new RpcError(RPC_CODES.refused, `transaction not found: ${requestedHash}`);
      const [trace] = await traces(chain, located.block, [located.index], settings);
      return trace?.result;
    },
    debug_traceBlockByNumber: ([tag, options]) => traceAll(chain, requireBlock(chain, tag), options),
    debug_traceBlockByHash: ([blockHash, options]) =>
      traceAll(chain, requireBlock(chain, { blockHash }), options),
    debug_traceCall: async ([call, tag, options]) => {
      const settings = readOptions(options);
      const { stateOverrides, blockOverrides } = optional(options, {} as Members, (value) =>
        object(value, "the options"),
      );
      const { block, state } = requireState(chain, tag);
      const request = readCallRequest(call);
      const overridden = applyOverrides(state, stateOverrides);
      assertValueCovered(request, overridden);
      const tracer = new CallTracer();
      const environment = readBlockOverrides(blockOverrides);
      await chain.call(toCall(request, callGas(chain, request)), block, overridden, { environment, tracer });
      return tracer.root && formatFrame(tracer.root, settings);
    },
  };
}

async function traceAll(chain: Chain, block: SealedBlock, options: unknown) {
  const settings = readOptions(options);
  return traces(chain, block, [...block.transactions.keys()], settings);
}

function readOptions(param: unknown): TraceOptions {
  const options = optional(param, {} as Members, (value) => object(value, "the options"));
  if (options.tracer !== "callTracer") {
    throw invalidParams(`tracer is ${shortJson(options.tracer)}; "callTracer" is the one there is`);
  }
  const config = optional(options.tracerConfig, {} as Members, (value) => object(value, "tracerConfig"));
  const flag = (name: "onlyTopCall" | "withLog") =>
    optional(config[name], false, (value) => boolean(value, name));
  return { onlyTopCall: flag("onlyTopCall"), withLog: flag("withLog") };
}

async function traces(
  chain: Chain,
  block: SealedBlock,
  indices: readonly number[],
  options: TraceOptions,
): Promise<{ readonly txHash: Hex; readonly result: FormattedFrame }[]> {
  const before = chain.stateBefore(block.number);
  if (before === undefined) {
    const message = `missing state: block ${block.number} is too old or genesis, states are kept from block ${chain.oldestState}`;
    throw new RpcError(RPC_CODES.refused, message, { oldest: chain.oldestState, latest: chain.head.number });
  }
  const frames = await traceBlock(chain, block, before, new Set(indices));
  return indices.flatMap((index) => {
    const included = block.transactions[index];
    if (included === undefined) return [];
    return [{ txHash: included.tx.hash, result: topFrame(included, frames.get(index), options) }];
  });
}

/** The outermost frame shows the transaction: its gas limit, and the gas used as in the receipt. */
function topFrame(
  { tx, receipt }: IncludedTransaction,
  frame: CallFrame | undefined,
  options: TraceOptions,
): FormattedFrame {
  const evm = decodeForEvm(tx.raw, tx.sender);
  const outermost: CallFrame = frame ?? {
    type: "CALL",
    from: tx.sender,
    to: evm.to && bytesToHex(evm.to.bytes),
    value: evm.value,
    gas: 0n,
    gasUsed: 0n,
    input: evm.data,
    output: new Uint8Array(0),
    failure: receipt.failure,
    calls: [],
    logs: [],
  };
  return formatFrame({ ...outermost, gas: evm.gasLimit, gasUsed: receipt.gasUsed }, options);
}

export interface FormattedFrame {
  readonly type: string;
  readonly from: Hex;
  readonly to?: Hex;
  readonly value?: Hex;
  readonly gas: Hex;
  readonly gasUsed: Hex;
  readonly input: Hex;
  readonly output?: Hex;
  readonly error?: string;
  readonly revertReason?: string;
  readonly calls?: readonly FormattedFrame[];
  readonly logs?: readonly object[];
}

function formatFrame(frame: CallFrame, options: TraceOptions): FormattedFrame {
  const { type, from, to, value, gas, gasUsed, input, output, failure, calls, logs } = frame;
  const reason = failure === "revert" ? revertText(output) : undefined;
  return {
    from,
    gas: toQuantity(gas),
    gasUsed: toQuantity(gasUsed),
    ...(to !== undefined && { to }),
    input: bytesToHex(input),
    ...(output.length > 0 && { output: bytesToHex(output) }),
    ...(failure !== undefined && { error: failureText(failure) }),
    ...(reason !== undefined && { revertReason: reason }),
    ...(calls.length > 0 &&
      !options.onlyTopCall && { calls: calls.map((call) => formatFrame(call, options)) }),
    ...(options.withLog &&
      logs.length > 0 && {
        logs: logs.map(({ position, ...log }) => ({ ...log, position: toQuantity(position) })),
      }),
    ...(value !== undefined && { value: toQuantity(value) }),
    type,
  };
}
