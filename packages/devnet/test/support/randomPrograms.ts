import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { SeededRandom } from "../../src/faults/seededRandom.js";

// Generates bytecode from a seed. It computes, reads and writes storage and memory, jumps, hashes and logs, and seldom
// takes more from the stack than there is.

/** Opcodes with the number of words that they take, and of those that they push. */
const COMPUTE: readonly (readonly [opcode: number, takes: number, pushes: number])[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 10, 11, 16, 17, 18, 19, 20, 22, 23, 24, 26, 27, 28, 29].map(
    (opcode) => [opcode, 2, 1] as const,
  ),
  ...[8, 9].map((opcode) => [opcode, 3, 1] as const),
  ...[21, 25, 53, 80].map((opcode) => [opcode, 1, opcode === 80 ? 0 : 1] as const),
  ...[48, 50, 51, 52, 54, 56, 58, 61, 65, 66, 67, 68, 69, 70, 71, 72, 88, 89, 90, 95].map(
    (opcode) => [opcode, 0, 1] as const,
  ),
];
/** Opcodes whose words are offsets and lengths. */
const RANGES: readonly (readonly [opcode: number, takes: number, pushes: number])[] = [
  [32, 2, 1],
  [55, 3, 0],
  [57, 3, 0],
  [81, 1, 1],
  [94, 3, 0],
];
/** An instruction that the fast path does not have: BALANCE. */
const UNKNOWN = 49;

export class RandomProgram {
  readonly #random: SeededRandom;
  readonly #code: number[] = [];
  #depth = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** The code of a contract with so many steps. */
  make(steps: number): Uint8Array {
    for (let i = 0; i < steps; i++) this.#step();
    this.#end();
    return Uint8Array.from(this.#code);
  }

  #step(): void {
    const choice = this.#below(13);
    if (choice === 0) this.#load();
    else if (choice < 3) this.#store();
    else if (choice < 5) this.#onRange(...this.#pick(RANGES));
    else if (choice === 5) this.#log();
    else if (choice === 6) this.#skip();
    else if (choice === 7) this.#rearrange();
    else if (choice === 8) this.#write();
    else this.#compute(...this.#pick(COMPUTE));
  }

  #compute(opcode: number, takes: number, pushes: number): void {
    for (let i = 0; i < takes; i++) if (this.#depth < takes || this.#below(2) === 0) this.#push(this.#word());
    this.#add(opcode, takes, pushes);
  }

  #onRange(opcode: number, takes: number, pushes: number): void {
    // The length is pushed first. An empty range may begin anywhere.
    const isEmpty = takes > 1 && this.#below(8) === 0;
    if (isEmpty) this.#push(0n);
    for (let i = isEmpty ? 1 : 0; i < takes; i++) this.#push(isEmpty ? this.#word() : this.#offset());
    this.#add(opcode, takes, pushes);
  }

  #load(): void {
    this.#push(this.#slot());
    this.#add(0x54, 1, 1);
  }

  #store(): void {
    this.#push(this.#pick([0n, 0n, 1n, 2n, this.#word()]));
    this.#push(this.#slot());
    this.#add(0x55, 2, 0);
  }

  /** Writes a word or a byte to memory. */
  #write(): void {
    this.#push(this.#word());
    this.#push(this.#offset());
    this.#add(this.#pick([0x52, 0x53]), 2, 0);
  }

  #log(): void {
    const topics = this.#below(5);
    for (let i = 0; i < topics; i++) this.#push(this.#word());
    this.#onRange(0xa0 + topics, 2, 0);
    this.#depth = Math.max(0, this.#depth - topics);
  }

  /** Jumps, perhaps on a condition, over a step that leaves the stack as it was. */
  #skip(): void {
    const conditional = this.#below(2) === 0;
    if (conditional) this.#push(BigInt(this.#below(2)));
    // PUSH2, the destination, the jump, then PUSH1 5, POP, and the destination.
    const destination = this.#code.length + 3 + 1 + 3;
    this.#code.push(0x61, destination >> 8, destination & 0xff, conditional ? 0x57 : 0x56);
    if (conditional) this.#depth--;
    this.#code.push(0x60, 0x5b, 0x50, 0x5b);
  }

  #rearrange(): void {
    while (this.#depth < 2) this.#push(this.#word());
    // One in twenty may reach below the bottom of the stack.
    const deepest = this.#below(20) === 0 ? 16 : Math.min(16, this.#depth - 1);
    const distance = this.#below(deepest) + 1;
    if (this.#below(2) === 0) this.#add(0x7f + distance, distance, distance + 1);
    else this.#add(0x8f + distance, distance + 1, distance + 1);
  }

  #end(): void {
    if (this.#below(30) === 0) this.#code.push(this.#pick([UNKNOWN, 0xfe, 0x56]));
    const ending = this.#pick([0xf3, 0xf3, 0xfd, 0x00, 0x7f]);
    if (ending === 0xf3 || ending === 0xfd) this.#onRange(ending, 2, 0);
    else this.#code.push(ending);
  }

  #add(opcode: number, takes: number, pushes: number): void {
    this.#code.push(opcode);
    this.#depth = Math.max(0, this.#depth - takes) + pushes;
  }

  #push(value: bigint): void {
    const bytes = hexToBytes(hexOf(value));
    this.#code.push(0x5f + bytes.length, ...bytes);
    this.#depth++;
  }

  #offset(): bigint {
    return BigInt(this.#below(this.#below(20) === 0 ? 5_000 : 90));
  }

  #slot(): bigint {
    return this.#pick([0n, 1n, 2n, 2n ** 256n - 1n]);
  }

  #word(): bigint {
    const small = BigInt(this.#below(300));
    const power = 2n ** BigInt(this.#below(256));
    return this.#pick([0n, 1n, 31n, 32n, small, power, power - 1n, 2n ** 256n - power, 2n ** 256n - 1n]);
  }

  #below(limit: number): number {
    return this.#random.below(limit);
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T;
  }
}

function hexOf(value: bigint): Hex {
  const digits = value.toString(16);
  return `0x${digits.length % 2 === 0 ? "" : "0"}${digits}`;
}
