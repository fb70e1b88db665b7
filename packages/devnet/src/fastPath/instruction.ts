import type { Frame } from "./frame.js";

/** An instruction of the EVM. */
export interface Instruction {
  /** The gas that it always costs. */
  readonly gas: number;
  /** Runs it, and charges what it costs beyond `gas`. The frame's position is behind the opcode. */
  readonly run: (frame: Frame) => void;
}

/** Instructions by their opcode. */
export type InstructionTable = Readonly<Record<number, Instruction>>;
