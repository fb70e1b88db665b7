import { bigIntToBytes, bytesToBigInt, type Hex } from "@gas-waiver/protocol";
import type { BlockEnvironment, Log } from "../evm/executor.js";
import type { Overlay } from "../state/overlay.js";
import type { StateReader } from "../state/reader.js";
import { CannotRunError } from "./cannotRunError.js";
import { Memory } from "./memory.js";
import type { Program } from "./program.js";

const MAX_STACK = 1_024;
const memory = new Memory();

/** A slot that the call has read or written. It is warm from then on (EIP-2929). */
export interface Slot {
  readonly key: Hex;
  /** The value before the transaction. */
  readonly original: bigint;
  value: bigint;
}

/** The values that a call runs with. */
export interface CallContext {
  readonly program: Program;
  readonly address: Uint8Array;
  readonly caller: Uint8Array;
  readonly value: bigint;
  readonly data: Uint8Array;
  readonly gasPrice: bigint;
  /** The contract's balance in wei, with the value of the call. */
  readonly balance: bigint;
  readonly block: BlockEnvironment;
  readonly state: StateReader;
  /** The slots of the contract that are warm from the start. */
  readonly warmSlots: readonly Hex[];
}

/** An instruction of the EVM. */
export interface Instruction {
  /** The gas that it always costs. */
  readonly gas: number;
  /** Runs it, and charges what it costs beyond `gas`. The frame's position is behind the opcode. */
  readonly run: (frame: Frame) => void;
}

/** Instructions by their opcode. */
export type InstructionTable = Readonly<Record<number, Instruction>>;

/** How a call ended. */
type Ending = "return" | "revert";

/** A running call of a contract: stack, memory, gas, and the changes that it makes. Writes do not reach the state. */
export class Frame {
  readonly context: CallContext;
  /** Shared by all frames: one runs at a time, and none waits for anything. */
  readonly memory = memory;
  readonly logs: Log[] = [];
  readonly #stack: bigint[] = [];
  readonly #slots = new Map<bigint, Slot>();
  readonly #warm: Set<bigint>;
  readonly #contract: Hex;
  position = 0;
  gasLeft: number;
  /** May be below 0 for a while. */
  refund = 0;
  ending: Ending | undefined;
  output: Uint8Array = new Uint8Array(0);

  constructor(context: CallContext, contract: Hex, gas: number) {
    this.context = context;
    memory.clear();
    this.gasLeft = gas;
    this.#contract = contract;
    this.#warm = new Set(context.warmSlots.map(BigInt));
  }

  charge(gas: number): void {
    this.gasLeft -= gas;
    if (this.gasLeft < 0) throw new CannotRunError("out of gas");
  }

  push(value: bigint): void {
    if (this.#stack.length >= MAX_STACK) throw new CannotRunError("stack overflow");
    this.#stack.push(value);
  }

  pop(): bigint {
    const value = this.#stack.pop();
    if (value === undefined) throw new CannotRunError("stack underflow");
    return value;
  }

  /** Pops an offset, a length or a position. */
  popNumber(): number {
    const value = this.pop();
    return value > MAX_NUMBER ? Number.MAX_SAFE_INTEGER : Number(value);
  }

  /** Pushes the nth value from the top again, counted from 1. */
  duplicate(n: number): void {
    const value = this.#stack[this.#stack.length - n];
    if (value === undefined) throw new CannotRunError("stack underflow");
    this.push(value);
  }

  /** Swaps the top with the nth value below it. */
  swap(n: number): void {
    const stack = this.#stack;
    const top = stack.length - 1;
    const [a, b] = [stack[top], stack[top - n]];
    if (a === undefined || b === undefined) throw new CannotRunError("stack underflow");
    stack[top] = b;
    stack[top - n] = a;
  }

  /** Makes a range part of the memory and charges for it. */
  expand(offset: number, length: number): void {
    this.charge(this.memory.priceOf(offset, length));
    this.memory.expand(offset, length);
  }

  jump(destination: number): void {
    if (this.context.program.jumpDestinations[destination] !== 1) throw new CannotRunError("invalid jump");
    this.position = destination;
  }

  end(ending: Ending, output: Uint8Array): void {
    this.ending = ending;
    this.output = output;
  }

  /** Writes the slots that the call has changed. */
  writeSlots(state: Overlay): void {
    for (const { key, original, value } of this.#slots.values()) {
      if (value !== original) state.setSlot(this.#contract, key, bigIntToBytes(value));
    }
  }

  /** @returns the slot, and whether this is its first use in the transaction. */
  use(key: bigint): { readonly slot: Slot; readonly isCold: boolean } {
    const known = this.#slots.get(key);
    if (known !== undefined) return { slot: known, isCold: false };
    const hex: Hex = `0x${key.toString(16).padStart(64, "0")}`;
    const original = bytesToBigInt(this.context.state.slot(this.#contract, hex));
    const slot: Slot = { key: hex, original, value: original };
    this.#slots.set(key, slot);
    return { slot, isCold: !this.#warm.has(key) };
  }
}

const MAX_NUMBER = BigInt(Number.MAX_SAFE_INTEGER);
