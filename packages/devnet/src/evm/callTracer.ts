import type { EVMInterface, EVMResult, InterpreterStep, Message } from "@ethereumjs/evm";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { wordHex } from "../state/word.js";

/** One call, creation or self-destruction, with the calls that it made. */
export interface CallFrame {
  readonly type: string;
  /** Addresses. `to` of a creation is the new contract. */
  readonly from: Hex;
  to: Hex | undefined;
  /** The value in wei; undefined for a STATICCALL, which cannot carry value. */
  readonly value: bigint | undefined;
  readonly gas: bigint;
  gasUsed: bigint;
  readonly input: Uint8Array;
  output: Uint8Array;
  /** The EVM's error message, if the call failed. */
  failure: string | undefined;
  readonly calls: CallFrame[];
  logs: TracedLog[];
}

export interface TracedLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  /** The number of calls that the frame made before this log. */
  readonly position: number;
}

/**
 * Records the tree of calls of one transaction or call. Attach it to an EVM that runs nothing else.
 * The kind of a call comes from the opcode before the message, because the message does not have it.
 */
export class CallTracer {
  #root: CallFrame | undefined;
  readonly #open: CallFrame[] = [];
  #step: { readonly name: string; readonly address: Hex } | undefined;

  attach(evm: EVMInterface): void {
    evm.events?.on("beforeMessage", (message) => this.#enter(message));
    evm.events?.on("afterMessage", (result) => this.#leave(result));
    evm.events?.on("step", (step) => this.#recordStep(step));
  }

  /** The outermost call; undefined if nothing ran. */
  get root(): CallFrame | undefined {
    return this.#root;
  }

  #enter(message: Message): void {
    const parent = this.#open[this.#open.length - 1];
    const creates = message.to === undefined;
    const type = parent === undefined ? (creates ? "CREATE" : "CALL") : (this.#step?.name ?? "CALL");
    const frame: CallFrame = {
      type,
      // A DELEGATECALL's message has the caller that the code will see. A trace shows the contract that made the call.
      from: parent === undefined ? hexOf(message.caller) : (this.#step?.address ?? hexOf(message.caller)),
      to: creates ? undefined : hexOf(message.codeAddress),
      value: type === "STATICCALL" ? undefined : message.value,
      gas: message.gasLimit,
      gasUsed: 0n,
      input: message.data,
      output: new Uint8Array(0),
      failure: undefined,
      calls: [],
      logs: [],
    };
    if (parent === undefined) this.#root = frame;
    else parent.calls.push(frame);
    this.#open.push(frame);
  }

  #leave({ execResult, createdAddress }: EVMResult): void {
    const frame = this.#open.pop();
    if (frame === undefined) return;
    frame.gasUsed = execResult.executionGasUsed;
    frame.output = execResult.returnValue;
    frame.failure = execResult.exceptionError?.error;
    if (frame.failure !== undefined) dropLogs(frame);
    else if (createdAddress !== undefined) frame.to = hexOf(createdAddress);
  }

  #recordStep({ opcode, address, stack, memory, account }: InterpreterStep): void {
    this.#step = { name: opcode.name, address: hexOf(address) };
    const frame = this.#open[this.#open.length - 1];
    if (frame === undefined) return;
    const fromTop = (depth: number) => stack[stack.length - 1 - depth] ?? 0n;
    if (opcode.name.startsWith("LOG")) {
      const count = opcode.code - LOG0;
      const [offset, length] = [Number(fromTop(0)), Number(fromTop(1))];
      frame.logs.push({
        address: hexOf(address),
        topics: Array.from({ length: count }, (_, i) => wordHex(fromTop(2 + i))),
        data: bytesToHex(slice(memory, offset, length)),
        position: frame.calls.length,
      });
    } else if (opcode.name === "SELFDESTRUCT") {
      frame.calls.push(selfDestruct(hexOf(address), wordHex(fromTop(0)), account.balance));
    }
  }
}

const LOG0 = 0xa0;

function selfDestruct(from: Hex, beneficiary: Hex, value: bigint): CallFrame {
  const none = new Uint8Array(0);
  return {
    type: "SELFDESTRUCT",
    from,
    to: bytesToHex(hexToBytes(beneficiary).subarray(12)),
    value,
    gas: 0n,
    gasUsed: 0n,
    input: none,
    output: none,
    failure: undefined,
    calls: [],
    logs: [],
  };
}

/** Removes the logs of a failed call and of the calls that it made. */
function dropLogs(frame: CallFrame): void {
  frame.logs = [];
  frame.calls.forEach(dropLogs);
}

/** Reads memory as the step saw it. It may be shorter than the logged range, which then ends with zeros. */
function slice(memory: Uint8Array, offset: number, length: number): Uint8Array {
  const out = new Uint8Array(Math.min(length, MAX_LOG_BYTES));
  out.set(memory.subarray(offset, offset + out.length));
  return out;
}

/** The step comes before its gas is charged, so the logged range may be larger than any gas limit pays for. */
const MAX_LOG_BYTES = 16_777_216;

function hexOf(address: { readonly bytes: Uint8Array }): Hex {
  return bytesToHex(address.bytes);
}
