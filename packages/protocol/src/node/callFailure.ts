import { type Hex, hexToBytes } from "../encoding/hex.js";
import { decodeRevert, panicCodeOf, type Revert, revertDataIn } from "./revert.js";

/** The way in which a call failed in the EVM. */
export interface CallFailure {
  /** `out_of_gas`: the gas limit did not suffice. `halted`: another exceptional halt, such as an invalid instruction. */
  readonly kind: Revert["kind"] | "out_of_gas" | "halted";
  /** The contract's text, or a description. */
  readonly message: string;
  /** The code of a panic as 0x hex, such as `0x11`. */
  readonly panic?: Hex;
  /** The data that the contract returned, if there is any. */
  readonly data?: Hex;
}

/** The words of geth, reth, Besu, cosmos/evm and EthereumJS for exceptional halts. */
const OUT_OF_GAS = /out of gas|OutOfGas|insufficient_gas/i;
const HALTED =
  /invalid opcode|invalid instruction|bad instruction|OpcodeNotFound|stack (under|over)flow|stack limit|Stack(Under|Over)flow|invalid jump|InvalidJump|write protection|static state change|StateChangeDuringStaticCall|call depth|return data out of bounds|out of (range|memory)|gas uint64 overflow|InvalidFEOpcode/i;

/**
 * Reads a node's error to a call, or the error of a trace: the way in which the call failed.
 * @returns undefined if the node did not run the call, for example because it does not have the state any more.
 * @example
 * ```ts
 * callFailureOf({ message: "execution reverted: paused", data: "0x08c379a0…" })?.message; // "paused"
 * ```
 */
export function callFailureOf({
  message,
  data,
}: {
  readonly message: string;
  readonly data?: unknown;
}): CallFailure | undefined {
  const found = revertDataIn(data);
  // A node tells a revert without data from other failures by the message alone.
  if (found !== undefined || /revert/i.test(message)) {
    const bytes = found === undefined ? new Uint8Array(0) : hexToBytes(found);
    const panic = panicCodeOf(bytes);
    return {
      ...decodeRevert(bytes),
      ...(panic !== undefined && { panic: `0x${panic.toString(16).padStart(2, "0")}` as const }),
      ...(found !== undefined && bytes.length > 0 && { data: found }),
    };
  }
  if (OUT_OF_GAS.test(message)) return { kind: "out_of_gas", message: "out of gas" };
  return HALTED.test(message) ? { kind: "halted", message } : undefined;
}
