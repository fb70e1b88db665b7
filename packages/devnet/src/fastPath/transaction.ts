import {
  bytesToHex,
  gasBounds,
  type Hex,
  hexToBytes,
  highestGasPrice,
  type SignedTransaction,
} from "@gas-waiver/protocol";
import type { BlockEnvironment, ExecutableTransaction, Outcome } from "../evm/executor.js";
import { effectiveGasPrice } from "../evm/gasPrice.js";
import type { Overlay } from "../state/overlay.js";
import { type AccountRecord, EMPTY_CODE_HASH, NO_BYTES } from "../state/reader.js";
import { Accounts } from "./accounts.js";
import { CannotRunError, UnknownInstructionError } from "./cannotRunError.js";
import { type CallContext, Frame } from "./frame.js";
import { INSTRUCTIONS } from "./instructions.js";
import { programOf } from "./program.js";

/** Gas is a Number here, and has to be exact. */
const MAX_GAS = 2n ** 50n;
const TWO_TO_256 = 2n ** 256n;
/** The addresses of the precompiled contracts begin with so many zero bytes. */
const PRECOMPILE_ZEROS = 18;
/** At most this part of the gas that was used is refunded (EIP-3529). */
const REFUND_QUOTIENT = 5;
/** The first byte of a delegation (EIP-7702), and of other code that is not legacy code. */
const SPECIAL_CODE = 0xef;

/** Codes that have an instruction that the fast path does not have. */
const unknownCodes = new WeakSet<Uint8Array>();

/**
 * Runs a transaction that only moves value, or calls a contract that makes no calls itself, such as a token.
 * @returns undefined for any other, and for one that must not be in a block or halts exceptionally. Nothing has changed
 * then, and EthereumJS runs it.
 */
export function runTransaction(
  { signed, sender }: ExecutableTransaction,
  state: Overlay,
  block: BlockEnvironment,
): Outcome | undefined {
  if (signed?.to === undefined || signed.gasLimit > MAX_GAS || signed.gasLimit > block.gasLimit)
    return undefined;
  if (isPrecompile(signed.to)) return undefined;
  const accounts = new Accounts(state);
  const target = bytesToHex(signed.to);
  const coinbase = bytesToHex(block.coinbase);
  // EthereumJS removes empty accounts that a transaction touches (EIP-161). Only a patch of the state leaves any.
  if (accounts.isEmpty(target) || accounts.isEmpty(coinbase)) return undefined;
  const gas = gasOf(signed);
  if (!canRun(signed, gas, accounts.get(sender))) return undefined;
  const code = codeOf(accounts.get(target), state);
  if (code[0] === SPECIAL_CODE || unknownCodes.has(code)) return undefined;

  const price = effectiveGasPrice(signed);
  const payer = accounts.get(sender);
  const balance = payer.balance - signed.gasLimit * price;
  accounts.set(sender, { ...payer, nonce: payer.nonce + 1n, balance });
  const frame = runCall({ signed, sender, target, code, price, gas }, accounts, state, block);
  if (frame === "cannot run") return undefined;

  const gasUsed = BigInt(gasUsedBy(signed, gas, frame));
  accounts.addBalance(sender, (signed.gasLimit - gasUsed) * price);
  accounts.addBalance(coinbase, gasUsed * price);
  accounts.write();
  const reverted = frame?.ending === "revert";
  if (!reverted) frame?.writeSlots(state);
  return {
    status: reverted ? 0 : 1,
    gasUsed,
    logs: reverted || frame === undefined ? [] : frame.logs,
    returnData: frame?.output ?? NO_BYTES,
    failure: reverted ? "revert" : undefined,
    created: undefined,
  };
}

interface TopCall {
  readonly signed: SignedTransaction;
  readonly sender: Hex;
  readonly target: Hex;
  readonly code: Uint8Array;
  readonly price: bigint;
  readonly gas: FrameGas;
}

/** Moves the value and runs the code. @returns the frame at its end; undefined if the target has no code. */
function runCall(
  { signed, sender, target, code, price, gas }: TopCall,
  accounts: Accounts,
  state: Overlay,
  block: BlockEnvironment,
): Frame | undefined | "cannot run" {
  const { value } = signed;
  accounts.addBalance(sender, -value);
  accounts.addBalance(target, value);
  if (accounts.get(target).balance >= TWO_TO_256) return "cannot run";
  if (code.length === 0) return undefined;
  const context: CallContext = {
    program: programOf(code),
    address: hexToBytes(target),
    caller: hexToBytes(sender),
    value,
    data: signed.data,
    gasPrice: price,
    balance: accounts.get(target).balance,
    block,
    state,
    warmSlots: warmSlotsOf(signed, target),
  };
  const frame = new Frame(context, target, Number(signed.gasLimit) - gas.intrinsic);
  try {
    run(frame);
  } catch (error) {
    if (!(error instanceof CannotRunError)) throw error;
    if (error instanceof UnknownInstructionError) unknownCodes.add(code);
    return "cannot run";
  }
  if (frame.ending === "revert") {
    accounts.addBalance(target, -value);
    accounts.addBalance(sender, value);
  }
  return frame;
}

/** The most instructions of a call. They take about 30 ms, in which nothing else runs. */
const MAX_STEPS = 1_000_000;

/** Runs a frame to its end. @throws {@link CannotRunError} for a long run, and where EthereumJS has to decide. */
export function run(frame: Frame): void {
  const { code } = frame.context.program;
  for (let steps = 0; frame.ending === undefined; steps++) {
    if (steps === MAX_STEPS) throw new CannotRunError("many instructions");
    // The code is followed by zeros without end, which are STOP.
    const opcode = code[frame.position] ?? 0;
    const instruction = INSTRUCTIONS[opcode];
    if (instruction === undefined) throw new UnknownInstructionError(`opcode ${opcode}`);
    frame.charge(instruction.gas);
    frame.position++;
    instruction.run(frame);
  }
}

function gasOf(tx: SignedTransaction) {
  const { intrinsic, floor } = gasBounds(tx);
  return { intrinsic: Number(intrinsic), floor: Number(floor) };
}

type FrameGas = ReturnType<typeof gasOf>;

/** @param frame the call at its end; undefined if no code ran. */
function gasUsedBy({ gasLimit }: SignedTransaction, { intrinsic, floor }: FrameGas, frame?: Frame): number {
  const used = frame === undefined ? intrinsic : Number(gasLimit) - frame.gasLeft;
  const refund = frame?.ending === "return" ? Math.min(frame.refund, Math.floor(used / REFUND_QUOTIENT)) : 0;
  return Math.max(used - refund, floor);
}

function isPrecompile(address: Uint8Array): boolean {
  for (let i = 0; i < PRECOMPILE_ZEROS; i++) if (address[i] !== 0) return false;
  return true;
}

/** Whether a transaction may be in a block. */
function canRun(tx: SignedTransaction, gas: FrameGas, { nonce, balance, codeHash }: AccountRecord): boolean {
  return (
    nonce === tx.nonce &&
    codeHash === EMPTY_CODE_HASH &&
    balance >= tx.gasLimit * highestGasPrice(tx) + tx.value &&
    Number(tx.gasLimit) >= Math.max(gas.intrinsic, gas.floor)
  );
}

function codeOf({ codeHash }: AccountRecord, state: Overlay): Uint8Array {
  return codeHash === EMPTY_CODE_HASH ? NO_BYTES : state.code(codeHash);
}

/** The contract's slots that the access list names (EIP-2930). */
function warmSlotsOf(tx: SignedTransaction, contract: Hex): Hex[] {
  if (tx.type === "legacy") return [];
  const entries = tx.accessList.filter(({ address }) => bytesToHex(address) === contract);
  return entries.flatMap(({ storageKeys }) => storageKeys.map(bytesToHex));
}
