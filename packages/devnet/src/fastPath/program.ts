import { bytesToBigInt } from "@gas-waiver/protocol";

const JUMPDEST = 0x5b;
const PUSH1 = 0x60;
const PUSH32 = 0x7f;

/** A contract's code with its analysis: the destinations of jumps, and the values of its PUSH instructions. */
export interface Program {
  readonly code: Uint8Array;
  /** 1 at each position that a jump may go to. */
  readonly jumpDestinations: Uint8Array;
  /** The value that a PUSH pushes, by the position behind its opcode. */
  readonly pushed: readonly (bigint | undefined)[];
}

/** Keyed by the array itself, because a state returns the same array for the same code. */
const programs = new WeakMap<Uint8Array, Program>();

/** Analyses code once. */
export function programOf(code: Uint8Array): Program {
  let program = programs.get(code);
  if (program === undefined) {
    program = analyse(code);
    programs.set(code, program);
  }
  return program;
}

function analyse(code: Uint8Array): Program {
  const jumpDestinations = new Uint8Array(code.length);
  const pushed = new Array<bigint | undefined>(code.length + 1).fill(undefined);
  for (let position = 0; position < code.length; ) {
    const opcode = code[position++] ?? 0;
    if (opcode === JUMPDEST) jumpDestinations[position - 1] = 1;
    if (opcode < PUSH1 || opcode > PUSH32) continue;
    const size = opcode - PUSH1 + 1;
    // The code is followed by zeros without end, so a PUSH at the end pushes some of them.
    const value = bytesToBigInt(code.subarray(position, position + size));
    const missing = Math.max(0, position + size - code.length);
    pushed[position] = value << BigInt(8 * missing);
    position += size;
  }
  return { code, jumpDestinations, pushed };
}
