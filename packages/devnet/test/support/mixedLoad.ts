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
import { SeededRandom } from "../../src/faults/seededRandom.js";
import { DEVNET_CHAIN_ID, TEST_TOKEN } from "../../src/presets/constants.js";
import { addressOf, key, signInner, transferData, wrap } from "./testNode.js";

// Generates transactions of every kind from a seed. They are wrapped or paid. They succeed, revert or run out of gas,
// create and destroy contracts, clear storage, move value, log, carry access lists, and delegate.

const PAYERS = [13, 20, 21, 22, 23];
const WAIVERS = [10, 11];
const USERS = 10;
const DEPLOYER = 13;
const GWEI = 10n ** 9n;

/** The code of the contracts that the load calls. */
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

/** Init code that stores and self-destructs, that uses CREATE2, that is invalid, and that returns forbidden code. */
const INIT_CODE = [
  "0x600160005533ff",
  "0x66600160005533ff6000526000600760196000f550600560015560206000a000",
  "0xfe",
  "0x60ef60005360016000f3",
] as const;

type Fields = Partial<{ gasLimit: bigint; to: Uint8Array | undefined; value: bigint; data: Uint8Array }>;

export class MixedLoad {
  /** The transactions of the first block: contracts that the others call, and coins for the users. */
  readonly opening: readonly Hex[];
  readonly #random: SeededRandom;
  readonly #nonces = new Map<string, bigint>();
  readonly #contracts = Object.keys(RUNTIME).map((_, i) => createdBy(DEPLOYER, BigInt(i)));
  readonly #unusedAddresses = Array.from({ length: 40 }, (_, i) => word(BigInt(0x5_0000 + i)).subarray(12));

  constructor(seed: number) {
    this.#random = new SeededRandom(seed, 0);
    const deployments = Object.values(RUNTIME).map((code) => ({ to: undefined, data: initCode(code) }));
    const funding = Array.from({ length: USERS }, (_, user) => ({
      to: addressBytes(user),
      value: 10n ** 18n,
    }));
    this.opening = [
      ...deployments.map((fields) => this.#paid(DEPLOYER, fields)),
      ...funding.map((fields) => this.#paid(20, fields)),
    ];
  }

  /** The next transactions, in nonce order. */
  take(count: number): Hex[] {
    return Array.from({ length: count }, () => this.#nextTransaction());
  }

  #nextTransaction(): Hex {
    const payer = this.#pick(PAYERS);
    const create = () => ({ to: undefined, data: hexToBytes(this.#pick(INIT_CODE)), value: this.#amount(2) });
    const precompile = () => ({ to: word(1n + this.#amount(9)).subarray(12), data: this.#bytes(200) });
    switch (this.#below(14)) {
      case 0:
        return this.#paid(payer, {
          to: this.#anyRecipient(),
          value: this.#amount(1_000),
          gasLimit: 100_000n,
        });
      case 1:
        return this.#paid(payer, create());
      case 2:
        return this.#paid(payer, precompile());
      case 3:
        return this.#paid(this.#below(USERS), { to: this.#anyRecipient(), value: 1n, gasLimit: 100_000n });
      case 4:
      case 5:
        return this.#paid(payer, this.#call());
      case 6:
        return this.#withAccessList(payer, this.#call());
      case 7:
        return this.#delegating(payer);
      default:
        return this.#wrapped();
    }
  }

  #paid(from: number, fields: Fields): Hex {
    return raw({ ...BASE, type: "legacy", gasPrice: GWEI, ...fields, nonce: this.#next(from) }, from);
  }

  #withAccessList(from: number, fields: Fields): Hex {
    const accessList = [{ address: this.#pick(this.#contracts), storageKeys: [word(this.#amount(4))] }];
    const tx = { ...BASE, accessList, ...fields, nonce: this.#next(from) };
    if (this.#below(2) === 0) return raw({ ...tx, type: "eip2930", gasPrice: GWEI }, from);
    return raw({ ...tx, type: "eip1559", maxPriorityFeePerGas: GWEI, maxFeePerGas: 2n * GWEI }, from);
  }

  #wrapped(): Hex {
    const user = this.#below(USERS);
    const to = this.#pick([addressOf(this.#below(USERS)), bytesToHex(this.#pick(this.#unusedAddresses))]);
    const data = transferData(to, this.#pick([0n, 1n, 10n ** 18n, 10n ** 30n]));
    data.set(this.#pick(SELECTORS), 0);
    const fields = {
      data,
      value: this.#below(8) === 0 ? 1n : 0n,
      gasLimit: this.#pick([30_000n, 100_000n]),
      nonce: this.#next(user),
      ...this.#pick([{}, FREE_2930, FREE_1559]),
    };
    const waiver = this.#pick(WAIVERS);
    return wrap(signInner(user, fields), { waiver, nonce: this.#next(waiver) });
  }

  #delegating(from: number): Hex {
    const authority = word(1_000n + this.#amount(5));
    const name = bytesToHex(authority);
    // Some authorizations have a wrong nonce and are skipped, and some end a delegation.
    const hasWrongNonce = this.#below(4) === 0;
    const nonce = hasWrongNonce ? (this.#nonces.get(name) ?? 0n) + 5n : this.#next(name);
    const target = this.#below(4) === 0 ? new Uint8Array(20) : this.#pick(this.#contracts);
    const to = this.#below(2) === 0 ? privateKeyToAddress(authority) : this.#pick(this.#contracts);
    return setCode(from, this.#next(from), to, [authorization(authority, target, nonce)]);
  }

  #call(): Fields {
    const recipientWord = concatBytes(new Uint8Array(12), this.#anyRecipient());
    const first = this.#below(3) === 0 ? recipientWord : word(this.#amount(8));
    return {
      to: this.#pick(this.#contracts),
      data: concatBytes(first, word(this.#amount(3))),
      value: this.#amount(2),
      gasLimit: this.#pick([28_000n, 50_000n, 80_000n]),
    };
  }

  #anyRecipient(): Uint8Array {
    const users = Array.from({ length: USERS }, (_, user) => addressBytes(user));
    return this.#pick([...this.#unusedAddresses, ...this.#contracts, ...users]);
  }

  /** The next nonce of an account, by its index or its key. */
  #next(account: number | Hex): bigint {
    const nonce = this.#nonces.get(String(account)) ?? 0n;
    this.#nonces.set(String(account), nonce + 1n);
    return nonce;
  }

  #below(limit: number): number {
    return this.#random.below(limit);
  }

  #amount(limit: number): bigint {
    return BigInt(this.#below(limit));
  }

  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T;
  }

  #bytes(limit: number): Uint8Array {
    return Uint8Array.from({ length: this.#below(limit) }, () => Math.max(0, this.#below(512) - 256));
  }
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
const FREE_2930 = { type: "eip2930" as const, accessList: TOKEN_SLOT };
const FREE_1559 = {
  type: "eip1559" as const,
  accessList: TOKEN_SLOT,
  maxFeePerGas: 0n,
  maxPriorityFeePerGas: 0n,
};

function raw(tx: UnsignedTransaction, from: number): Hex {
  return bytesToHex(signTransaction(tx, key(from)).raw);
}

/** Init code that returns the given runtime code of fewer than 256 bytes. */
function initCode(runtime: string): Uint8Array {
  const size = (runtime.length / 2).toString(16).padStart(2, "0");
  return hexToBytes(`0x60${size}80600b6000396000f3${runtime}`);
}

function createdBy(account: number, nonce: bigint): Uint8Array {
  return crypto.keccak256(encodeRlp([addressBytes(account), nonce])).subarray(12);
}

/** A transaction with authorizations (EIP-7702). */
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

function addressBytes(account: number): Uint8Array {
  return hexToBytes(addressOf(account));
}

function word(value: bigint): Uint8Array {
  return hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
}
