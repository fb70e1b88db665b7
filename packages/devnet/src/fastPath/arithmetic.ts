import type { Frame, Instruction, InstructionTable } from "./frame.js";

// Instructions that take words from the stack and push one word.

const unsigned = (value: bigint) => BigInt.asUintN(256, value);
const signed = (value: bigint) => BigInt.asIntN(256, value);
const flag = (condition: boolean) => (condition ? 1n : 0n);

function unary(gas: number, compute: (a: bigint) => bigint): Instruction {
  return { gas, run: (frame) => frame.push(compute(frame.pop())) };
}

/** @param compute takes the top of the stack first. */
function binary(gas: number, compute: (a: bigint, b: bigint) => bigint): Instruction {
  return {
    gas,
    run(frame) {
      const a = frame.pop();
      frame.push(compute(a, frame.pop()));
    },
  };
}

function ternary(gas: number, compute: (a: bigint, b: bigint, c: bigint) => bigint): Instruction {
  return {
    gas,
    run(frame) {
      const a = frame.pop();
      const b = frame.pop();
      frame.push(compute(a, b, frame.pop()));
    },
  };
}

export const arithmetic: InstructionTable = {
  1: binary(3, (a, b) => unsigned(a + b)), // ADD
  2: binary(5, (a, b) => unsigned(a * b)), // MUL
  3: binary(3, (a, b) => unsigned(a - b)), // SUB
  4: binary(5, (a, b) => (b === 0n ? 0n : a / b)), // DIV
  5: binary(5, (a, b) => (b === 0n ? 0n : unsigned(signed(a) / signed(b)))), // SDIV
  6: binary(5, (a, b) => (b === 0n ? 0n : a % b)), // MOD
  7: binary(5, (a, b) => (b === 0n ? 0n : unsigned(signed(a) % signed(b)))), // SMOD
  8: ternary(8, (a, b, n) => (n === 0n ? 0n : (a + b) % n)), // ADDMOD
  9: ternary(8, (a, b, n) => (n === 0n ? 0n : (a * b) % n)), // MULMOD
  10: { gas: 10, run: exponentiate }, // EXP
  11: binary(5, extendSign), // SIGNEXTEND
  16: binary(3, (a, b) => flag(a < b)), // LT
  17: binary(3, (a, b) => flag(a > b)), // GT
  18: binary(3, (a, b) => flag(signed(a) < signed(b))), // SLT
  19: binary(3, (a, b) => flag(signed(a) > signed(b))), // SGT
  20: binary(3, (a, b) => flag(a === b)), // EQ
  21: unary(3, (a) => flag(a === 0n)), // ISZERO
  22: binary(3, (a, b) => a & b), // AND
  23: binary(3, (a, b) => a | b), // OR
  24: binary(3, (a, b) => a ^ b), // XOR
  25: unary(3, (a) => unsigned(~a)), // NOT
  26: binary(3, (index, a) => (index > 31n ? 0n : (a >> (8n * (31n - index))) & 0xffn)), // BYTE
  27: binary(3, (bits, a) => (bits > 255n ? 0n : unsigned(a << bits))), // SHL
  28: binary(3, (bits, a) => (bits > 255n ? 0n : a >> bits)), // SHR
  29: binary(3, (bits, a) => unsigned(signed(a) >> (bits > 255n ? 255n : bits))), // SAR
};

/** Costs 50 gas for each byte of the exponent (EIP-160). */
function exponentiate(frame: Frame): void {
  let base = frame.pop();
  let exponent = frame.pop();
  frame.charge(exponent === 0n ? 0 : 50 * Math.ceil(exponent.toString(16).length / 2));
  let power = 1n;
  for (; exponent > 0n; exponent >>= 1n) {
    if ((exponent & 1n) === 1n) power = unsigned(power * base);
    base = unsigned(base * base);
  }
  frame.push(power);
}

/** Takes the sign from the highest bit of the byte with this index, counted from the lowest. */
function extendSign(index: bigint, value: bigint): bigint {
  return index > 30n ? value : unsigned(BigInt.asIntN(8 * (Number(index) + 1), value));
}
