import { CannotRunError } from "./cannotRunError.js";
import type { Frame, InstructionTable, Slot } from "./frame.js";

// The gas of storage (EIP-2200, EIP-2929, EIP-3529).

const WARM_ACCESS = 100;
const COLD_ACCESS = 2_100;
const SET = 20_000;
const RESET = 2_900;
const CLEAR_REFUND = 4_800;
/** A call with no more gas than that must not write. */
const STIPEND = 2_300;

export const storage: InstructionTable = {
  84: { gas: 0, run: load }, // SLOAD
  85: { gas: 0, run: store }, // SSTORE
};

function load(frame: Frame): void {
  const { slot, isCold } = frame.use(frame.pop());
  frame.charge(isCold ? COLD_ACCESS : WARM_ACCESS);
  frame.push(slot.value);
}

function store(frame: Frame): void {
  const key = frame.pop();
  const value = frame.pop();
  if (frame.gasLeft <= STIPEND) throw new CannotRunError("out of gas");
  const { slot, isCold } = frame.use(key);
  frame.charge((isCold ? COLD_ACCESS : 0) + priceOf(slot, value));
  frame.refund += refundOf(slot, value);
  slot.value = value;
}

function priceOf({ original, value: current }: Slot, value: bigint): number {
  if (value === current || original !== current) return WARM_ACCESS;
  return original === 0n ? SET : RESET;
}

function refundOf({ original, value: current }: Slot, value: bigint): number {
  if (value === current) return 0;
  if (original === current) return original !== 0n && value === 0n ? CLEAR_REFUND : 0;
  let refund = 0;
  if (original !== 0n && current === 0n) refund -= CLEAR_REFUND;
  if (original !== 0n && value === 0n) refund += CLEAR_REFUND;
  if (value === original) refund += (original === 0n ? SET : RESET) - WARM_ACCESS;
  return refund;
}
