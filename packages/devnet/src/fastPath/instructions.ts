import { bytesToBigInt, crypto } from "@gas-waiver/protocol";
import { arithmetic } from "./arithmetic.js";
import type { Frame, Instruction, InstructionTable } from "./frame.js";
import { storage } from "./storage.js";
import { wordAt, wordBytes } from "./word.js";

// The instructions of the fast path, with the gas of Prague. EthereumJS runs code with others.

/** Pushes a value that does not depend on the stack. */
function value(gas: number, read: (frame: Frame) => bigint): Instruction {
  return { gas, run: (frame) => frame.push(read(frame)) };
}

const words = (bytes: number) => Math.ceil(bytes / 32);

const environment: InstructionTable = {
  48: value(2, ({ context }) => bytesToBigInt(context.address)), // ADDRESS
  50: value(2, ({ context }) => bytesToBigInt(context.caller)), // ORIGIN
  51: value(2, ({ context }) => bytesToBigInt(context.caller)), // CALLER
  52: value(2, ({ context }) => context.value), // CALLVALUE
  53: { gas: 3, run: loadCallData }, // CALLDATALOAD
  54: value(2, ({ context }) => BigInt(context.data.length)), // CALLDATASIZE
  55: { gas: 3, run: (frame) => copyBytes(frame, frame.context.data) }, // CALLDATACOPY
  56: value(2, ({ context }) => BigInt(context.program.code.length)), // CODESIZE
  57: { gas: 3, run: (frame) => copyBytes(frame, frame.context.program.code) }, // CODECOPY
  58: value(2, ({ context }) => context.gasPrice), // GASPRICE
  61: value(2, () => 0n), // RETURNDATASIZE: a call that makes no calls has no return data
  65: value(2, ({ context }) => bytesToBigInt(context.block.coinbase)), // COINBASE
  66: value(2, ({ context }) => context.block.timestamp), // TIMESTAMP
  67: value(2, ({ context }) => context.block.number), // NUMBER
  68: value(2, ({ context }) => bytesToBigInt(context.block.prevRandao)), // PREVRANDAO
  69: value(2, ({ context }) => context.block.gasLimit), // GASLIMIT
  70: value(2, ({ context }) => context.block.chainId), // CHAINID
  71: value(5, ({ context }) => context.balance), // SELFBALANCE
  72: value(2, () => 0n), // BASEFEE
};

const memory: InstructionTable = {
  32: { gas: 30, run: hash }, // KECCAK256
  81: { gas: 3, run: load }, // MLOAD
  82: { gas: 3, run: store }, // MSTORE
  83: { gas: 3, run: storeByte }, // MSTORE8
  89: value(2, (frame) => BigInt(frame.memory.size)), // MSIZE
  94: { gas: 3, run: move }, // MCOPY
};

const flow: InstructionTable = {
  0: { gas: 0, run: (frame) => frame.end("return", new Uint8Array(0)) }, // STOP
  80: { gas: 2, run: (frame) => void frame.pop() }, // POP
  86: { gas: 8, run: (frame) => frame.jump(frame.popNumber()) }, // JUMP
  87: { gas: 10, run: jumpIf }, // JUMPI
  88: value(2, (frame) => BigInt(frame.position - 1)), // PC
  90: value(2, (frame) => BigInt(frame.gasLeft)), // GAS
  91: { gas: 1, run: () => {} }, // JUMPDEST
  95: value(2, () => 0n), // PUSH0
  243: { gas: 0, run: (frame) => endWith(frame, "return") }, // RETURN
  253: { gas: 0, run: (frame) => endWith(frame, "revert") }, // REVERT
};

const pushes = range(32, (index): [number, Instruction] => [96 + index, { gas: 3, run: pushOf(index + 1) }]);
const duplicates = range(16, (index): [number, Instruction] => [
  128 + index,
  { gas: 3, run: (frame) => frame.duplicate(index + 1) },
]);
const swaps = range(16, (index): [number, Instruction] => [
  144 + index,
  { gas: 3, run: (frame) => frame.swap(index + 1) },
]);
const logs = range(5, (topics): [number, Instruction] => [
  160 + topics,
  { gas: 375 * (topics + 1), run: (frame) => log(frame, topics) },
]);

const table: InstructionTable = {
  ...arithmetic,
  ...environment,
  ...memory,
  ...storage,
  ...flow,
  ...Object.fromEntries([...pushes, ...duplicates, ...swaps, ...logs]),
};

/** The instructions by opcode; undefined where the fast path has none. */
export const INSTRUCTIONS: readonly (Instruction | undefined)[] = range(256, (opcode) => table[opcode]);

function range<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}

function pushOf(size: number): Instruction["run"] {
  return (frame) => {
    frame.push(frame.context.program.pushed[frame.position] ?? 0n);
    frame.position += size;
  };
}

function loadCallData(frame: Frame): void {
  const offset = frame.popNumber();
  frame.push(wordAt(frame.context.data, offset));
}

function copyBytes(frame: Frame, source: Uint8Array): void {
  const [target, offset, length] = [frame.popNumber(), frame.popNumber(), frame.popNumber()];
  frame.expand(target, length);
  frame.charge(3 * words(length));
  frame.memory.write(target, source, offset, length);
}

function hash(frame: Frame): void {
  const [offset, length] = [frame.popNumber(), frame.popNumber()];
  frame.expand(offset, length);
  frame.charge(6 * words(length));
  frame.push(wordAt(crypto.keccak256(frame.memory.view(offset, length)), 0));
}

function load(frame: Frame): void {
  const offset = frame.popNumber();
  frame.expand(offset, 32);
  frame.push(frame.memory.readWord(offset));
}

function store(frame: Frame): void {
  const offset = frame.popNumber();
  const word = frame.pop();
  frame.expand(offset, 32);
  frame.memory.writeWord(offset, word);
}

function storeByte(frame: Frame): void {
  const offset = frame.popNumber();
  const word = frame.pop();
  frame.expand(offset, 1);
  frame.memory.writeByte(offset, Number(word & 0xffn));
}

function move(frame: Frame): void {
  const [target, source, length] = [frame.popNumber(), frame.popNumber(), frame.popNumber()];
  frame.expand(Math.max(target, source), length);
  frame.charge(3 * words(length));
  frame.memory.move(target, source, length);
}

function jumpIf(frame: Frame): void {
  const destination = frame.popNumber();
  if (frame.pop() !== 0n) frame.jump(destination);
}

function endWith(frame: Frame, ending: "return" | "revert"): void {
  const [offset, length] = [frame.popNumber(), frame.popNumber()];
  frame.expand(offset, length);
  frame.end(ending, frame.memory.copy(offset, length));
}

function log(frame: Frame, count: number): void {
  const [offset, length] = [frame.popNumber(), frame.popNumber()];
  const topics = range(count, () => wordBytes(frame.pop()));
  frame.expand(offset, length);
  frame.charge(8 * length);
  const { address } = frame.context;
  frame.logs.push({ address, topics, data: frame.memory.copy(offset, length) });
}
