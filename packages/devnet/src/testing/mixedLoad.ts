import {
  bytesToHex,
  concatBytes,
  crypto,
  encodeRlp,
  type Hex,
  hexToBytes,
  privateKeyToAddress,
  type RlpItem,
  signTransaction,
  type UnsignedTransaction,
} from "@gas-waiver/protocol";
import { DEVNET_CHAIN_ID, TEST_TOKEN } from "../constants.js";
import { addressOf, key, signInner, transferData, wrap } from "./node.js";

// Transactions of every kind, the same for the same seed: wrapped and paid for, that succeed, revert and run
// out of gas, create, destroy, clear storage, move value, log, announce access and delegate.

const PAYERS = [13, 20, 21, 22, 23];
const WAIVERS = [10, 11];
const USERS = 10;
const DEPLOYER = 13;
const GWEI = 10n ** 9n;

/** What the contracts of the load do when they are called. */
const RUNTIME: Readonly<Record<string, string>> = {
  raisesSlot0AndLogsIt: "6000546001018060005560005260206000a000",
  togglesSlot0: "6000541560005500",
  storesWord2AtWord1: "60203560003555",
  logsTwoTopics: "60203560003560206000a200",
  storesAndReverts: "600160005560006000fd",
  runsForEver: "5b600056",
  destroysItselfForWord1: "600035ff",
  callsWord1: "600060006000600060006000355af15000",
};

/** Init code: stores and destroys its contract; makes another by CREATE2; is invalid; returns forbidden code. */
const INIT_CODE = [
  "0x600160005533ff",
  "0x66600160005533ff6000526000600760196000f550600560015560206000a000",
  "0xfe",
  "0x60ef60005360016000f3",
] as const;

export interface MixedLoad {
  /** Goes into the first block: the contracts that the rest calls, and money for the users. */
  readonly opening: readonly Hex[];
  /** The next transactions, in an order in which they may be sent. */
  take(count: number): Hex[];
}

type Fields = Partial<{ gasLimit: bigint; to: Uint8Array | undefined; value: bigint; data: Uint8Array }>;

export function mixedLoad(seed: number): MixedLoad {
  const random = generator(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const nonces = new Map<string, bigint>();
  const next = (who: string | number) => {
    const nonce = nonces.get(String(who)) ?? 0n;
    nonces.set(String(who), nonce + 1n);
    return nonce;
  };
  const contracts = Object.keys(RUNTIME).map((_, i) => createdBy(DEPLOYER, BigInt(i)));
  const strangers = Array.from({ length: 40 }, (_, i) => word(BigInt(0x5_0000 + i)).subarray(12));
  const anyone = () => pick([...strangers, ...contracts, ...Array.from({ length: USERS }, (_, i) => of(i))]);

  const paid = (from: number, fields: Fields): Hex =>
    raw({ ...BASE, type: "legacy", gasPrice: GWEI, ...fields, nonce: next(from) }, from);
  const announced = (from: number, fields: Fields): Hex => {
    const accessList = [{ address: pick(contracts), storageKeys: [word(BigInt(below(4)))] }];
    const tip = { maxPriorityFeePerGas: GWEI, maxFeePerGas: 2n * GWEI };
    const tx = { ...BASE, accessList, ...fields, nonce: next(from) };
    return raw(
      below(2) === 0 ? { ...tx, type: "eip2930", gasPrice: GWEI } : { ...tx, type: "eip1559", ...tip },
      from,
    );
  };
  const call = (): Fields => {
    const first = below(3) === 0 ? concatBytes(new Uint8Array(12), anyone()) : word(BigInt(below(8)));
    const data = concatBytes(first, word(BigInt(below(3))));
    return {
      to: pick(contracts),
      data,
      value: BigInt(below(2)),
      gasLimit: pick([28_000n, 60_000n, 150_000n]),
    };
  };
  const wrapped = (): Hex => {
    const user = below(USERS);
    const amount = pick([0n, 1n, 10n ** 18n, 10n ** 30n]);
    const data = transferData(pick([addressOf(below(USERS)), bytesToHex(pick(strangers))]), amount);
    data.set(pick(SELECTORS), 0);
    const typed = pick([{}, { type: "eip2930" as const, accessList: TOKEN_SLOT }, FREE_1559]);
    const fields = { data, value: below(8) === 0 ? 1n : 0n, gasLimit: pick([30_000n, 100_000n]), ...typed };
    const waiver = pick(WAIVERS);
    return wrap(signInner(user, { ...fields, nonce: next(user) }), { waiver, nonce: next(waiver) });
  };
  const delegating = (): Hex => {
    const authority = word(BigInt(1_000 + below(5)));
    // Sometimes one that is behind, which is passed over, and sometimes the end of a delegation.
    const stale = below(4) === 0;
    const name = bytesToHex(authority);
    const nonce = stale ? (nonces.get(name) ?? 0n) + 5n : next(name);
    const target = below(4) === 0 ? new Uint8Array(20) : pick(contracts);
    const from = pick(PAYERS);
    const to = below(2) === 0 ? privateKeyToAddress(authority) : pick(contracts);
    return setCode(from, next(from), to, [authorization(authority, target, nonce)]);
  };
  const one = (): Hex => {
    const payer = pick(PAYERS);
    const kinds = [
      ...Array.from({ length: 6 }, () => wrapped),
      () => paid(payer, { to: anyone(), value: BigInt(below(1_000)), gasLimit: 100_000n }),
      () => paid(payer, { to: undefined, data: hexToBytes(pick(INIT_CODE)), value: BigInt(below(2)) }),
      () => paid(payer, { to: word(BigInt(1 + below(9))).subarray(12), data: bytesFrom(random, below(200)) }),
      () => paid(below(USERS), { to: anyone(), value: 1n, gasLimit: 100_000n }),
      () => paid(payer, call()),
      () => paid(payer, call()),
      () => announced(payer, call()),
      delegating,
    ];
    return pick(kinds)();
  };
  const opening = [
    ...Object.values(RUNTIME).map((code) => paid(DEPLOYER, { to: undefined, data: initCode(code) })),
    ...Array.from({ length: USERS }, (_, user) => paid(20, { to: of(user), value: 10n ** 18n })),
  ];
  return { opening, take: (count) => Array.from({ length: count }, one) };
}

const BASE = {
  chainId: DEVNET_CHAIN_ID,
  gasLimit: 300_000n,
  to: undefined as Uint8Array | undefined,
  value: 0n,
  data: new Uint8Array(0),
};
const SELECTORS = ["0xa9059cbb", "0xa9059cbb", "0x095ea7b3", "0x23b872dd"].map(hexToBytes);
const TOKEN_SLOT = [{ address: TEST_TOKEN, storageKeys: [word(0n)] }];
const FREE_1559 = {
  type: "eip1559" as const,
  accessList: TOKEN_SLOT,
  maxFeePerGas: 0n,
  maxPriorityFeePerGas: 0n,
};

function raw(tx: UnsignedTransaction, from: number): Hex {
  return bytesToHex(signTransaction(tx, key(from)).raw);
}

/** Init code that leaves the given code, of fewer than 256 bytes. */
function initCode(runtime: string): Uint8Array {
  const size = (runtime.length / 2).toString(16).padStart(2, "0");
  return hexToBytes(`0x60${size}80600b6000396000f3${runtime}`);
}

function createdBy(account: number, nonce: bigint): Uint8Array {
  return crypto.keccak256(encodeRlp([of(account), nonce])).subarray(12);
}

/** EIP-7702: a transaction that carries authorizations. */
function setCode(from: number, nonce: bigint, to: Uint8Array, authorizations: RlpItem[]): Hex {
  const fields: RlpItem[] = [DEVNET_CHAIN_ID, nonce, GWEI, GWEI, 200_000n, to, 0n, new Uint8Array(0), []];
  fields.push(authorizations);
  const envelope = (items: RlpItem) => concatBytes(Uint8Array.of(4), encodeRlp(items));
  return bytesToHex(envelope([...fields, ...signatureOver(envelope(fields), key(from))]));
}

function authorization(authority: Uint8Array, target: Uint8Array, nonce: bigint): RlpItem {
  const fields: RlpItem[] = [DEVNET_CHAIN_ID, target, nonce];
  const signed = concatBytes(Uint8Array.of(5), encodeRlp(fields));
  return [...fields, ...signatureOver(signed, authority)];
}

function signatureOver(bytes: Uint8Array, privateKey: Uint8Array): RlpItem[] {
  const { compact, yParity } = crypto.sign(crypto.keccak256(bytes), privateKey);
  const half = (from: number) => BigInt(bytesToHex(compact.subarray(from, from + 32)));
  return [BigInt(yParity), half(0), half(32)];
}

function of(account: number): Uint8Array {
  return hexToBytes(addressOf(account));
}

function word(value: bigint): Uint8Array {
  return hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
}

function bytesFrom(random: () => number, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => (random() < 0.5 ? 0 : Math.floor(random() * 256)));
}

/** Numbers from 0 to 1 that look random (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
