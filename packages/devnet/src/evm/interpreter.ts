import { createEVM, EVMError } from "@ethereumjs/evm";
import { common } from "./common.js";

// EthereumJS awaits every opcode, and analyses the jump destinations of a contract at every call. That is half of the
// time of a token transfer. This loop is EthereumJS' own without these two. EthereumJS still runs the opcodes, charges
// their gas and throws their errors. Its own step runs an opcode that is asynchronous, invalid or of dynamic gas, and its
// own loop runs where steps are observed. Only our Common uses this loop, so that a test can compare it with the original.

/** The members of EthereumJS' interpreter that the loop uses, in version 10.1.3. */
interface Interpreter {
  readonly common: unknown;
  readonly _evm: {
    readonly DEBUG: boolean;
    readonly events: { listenerCount(event: "step"): number };
    readonly _opcodeMap: readonly Opcode[];
    readonly _optsCached: { readonly profiler?: { readonly enabled: boolean } };
  };
  readonly _runState: RunState;
  run(code: Uint8Array, options?: { readonly pc?: number }): Promise<RunResult>;
  runStep(opcode: Opcode): Promise<void>;
  useGas(amount: bigint): void;
  _getValidJumpDestinations(code: Uint8Array): Jumps;
}

interface Opcode {
  readonly opcodeInfo: {
    readonly feeBigInt: bigint;
    readonly isAsync: boolean;
    readonly dynamicGas: boolean;
    readonly isInvalid: boolean;
  };
  readonly opHandler: (state: RunState, rules: unknown) => void;
}

interface RunState {
  programCounter: number;
  opCode: number;
  code: Uint8Array;
  validJumps: Uint8Array;
  cachedPushes: Readonly<Record<number, bigint>>;
  shouldDoJumpAnalysis: boolean;
}

interface RunResult {
  readonly runState: RunState;
  readonly exceptionError: EVMError | undefined;
}

interface Jumps {
  readonly jumps: Uint8Array;
  readonly pushes: Readonly<Record<number, bigint>>;
}

const JUMP = 0x56;
const JUMPI = 0x57;
/** The first byte of code that is not legacy code (EIP-3540). Contracts with it cannot be created (EIP-3541). */
const EOF_PREFIX = 0xef;

/** Keyed by the array itself, because a state returns the same array for the same code. */
const jumpsOf = new WeakMap<Uint8Array, Jumps>();

let tuned = false;

/** Replaces EthereumJS' interpreter loop for the whole process. Later calls do nothing. */
export async function tuneInterpreter(): Promise<void> {
  if (tuned) return;
  tuned = true;
  // EthereumJS does not export the class. An empty run gives access to its prototype.
  const evm = await createEVM({ common });
  const { runState } = await evm.runCode({ code: new Uint8Array(1), gasLimit: 1n });
  const prototype = Object.getPrototypeOf(runState?.interpreter) as Interpreter;
  const original = prototype.run;
  prototype.run = async function (code, options) {
    const { _evm: evm } = this;
    const observed = evm.DEBUG || evm.events.listenerCount("step") > 0 || evm._optsCached.profiler?.enabled;
    if (this.common !== common || observed || options?.pc !== undefined || code[0] === EOF_PREFIX) {
      return original.call(this, code, options);
    }
    return run(this, code);
  };
}

async function run(interpreter: Interpreter, code: Uint8Array): Promise<RunResult> {
  const { _runState: state, _evm } = interpreter;
  const { _opcodeMap: opcodes } = _evm;
  state.code = code;
  try {
    while (state.programCounter < code.length) {
      const number = code[state.programCounter] ?? 0;
      const opcode = opcodes[number];
      if (opcode === undefined) break;
      if (state.shouldDoJumpAnalysis && (number === JUMP || number === JUMPI)) analyseJumps(interpreter);
      state.opCode = number;
      const { opcodeInfo } = opcode;
      if (opcodeInfo.dynamicGas || opcodeInfo.isAsync || opcodeInfo.isInvalid) {
        await interpreter.runStep(opcode);
        continue;
      }
      interpreter.useGas(opcodeInfo.feeBigInt);
      state.programCounter++;
      opcode.opHandler(state, common);
    }
  } catch (error) {
    if (!(error instanceof EVMError)) throw error;
    const stopped = error.error === EVMError.errorMessages.STOP;
    return { runState: state, exceptionError: stopped ? undefined : error };
  }
  return { runState: state, exceptionError: undefined };
}

function analyseJumps(interpreter: Interpreter): void {
  const { _runState: state } = interpreter;
  let analysis = jumpsOf.get(state.code);
  if (analysis === undefined) {
    const { jumps, pushes } = interpreter._getValidJumpDestinations(state.code);
    analysis = { jumps, pushes };
    jumpsOf.set(state.code, analysis);
  }
  state.validJumps = analysis.jumps;
  state.cachedPushes = analysis.pushes;
  state.shouldDoJumpAnalysis = false;
}
