import type { EVMInterface, EVMResult, InterpreterStep, Message } from "@ethereumjs/evm";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";

/** One call, creation or self-destruction, with what it led to. */
export interface CallFrame {
  readonly type: string;
  /** 20 bytes each, as hex; `to` of a creation is the new contract. */
  readonly from: Hex;
  to: Hex | undefined;
  /** undefined where none can be sent along: STATICCALL. */
  readonly value: bigint | undefined;
  readonly gas: bigint;
  gasUsed: bigint;
  readonly input: Uint8Array;
  output: Uint8Array;
  /** Why it failed, in the EVM's words. */
  failure: string | undefined;
  readonly calls: CallFrame[];
  logs: TracedLog[];
}

export interface TracedLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  /** How many calls its frame had made before it. */
  readonly position: number;
}

/**
 * Watches one transaction or call and tells who called whom. Attach it to an EVM that runs nothing else.
 * The opcode before a message says what kind of call it is; the message alone does not.
 */
export class CallTracer {
  #root: CallFrame | undefined;
  readonly #open: CallFrame[] = [];
  #step: { readonly name: string; readonly address: Hex } | undefined;

  attach(evm: EVMInterface): void {
    evm.events?.on("beforeMessage", (message) => this.#enter(message));
    evm.events?.on("afterMessage", (result) => this.#leave(result));
    evm.events?.on("step", (step) => this.#note(step));
  }

  /** The outermost call; undefined when nothing ran. */
  get root(): CallFrame | undefined {
    return this.#root;
  }

  #enter(message: Message): void {
    const parent = this.#open[this.#open.length - 1];
    const creates = message.to === undefined;
    const type = parent === undefined ? (creates ? "CREATE" : "CALL") : (this.#step?.name ?? "CALL");
    const frame: CallFrame = {
      type,
      // The message of a DELEGATECALL says what the code will see; a trace says who called which code.
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

  #note({ opcode, address, stack, memory, account }: InterpreterStep): void {
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

/** What failed has logged nothing, and neither has what it called. */
function dropLogs(frame: CallFrame): void {
  frame.logs = [];
  frame.calls.forEach(dropLogs);
}

/** Memory as the step saw it may end before what is logged: the rest is zeros. */
function slice(memory: Uint8Array, offset: number, length: number): Uint8Array {
  const out = new Uint8Array(Math.min(length, MAX_LOG_BYTES));
  out.set(memory.subarray(offset, offset + out.length));
  return out;
}

/** A step is told before its gas is charged, and so may ask for more than anybody could pay. */
const MAX_LOG_BYTES = 16_777_216;

function hexOf(address: { readonly bytes: Uint8Array }): Hex {
  return bytesToHex(address.bytes);
}

function wordHex(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, "0")}`;
}
