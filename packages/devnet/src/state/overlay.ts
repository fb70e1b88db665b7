import type { AccountFields, StateManagerInterface } from "@ethereumjs/common";
import { EVMError } from "@ethereumjs/evm";
import { OriginalStorageCache } from "@ethereumjs/statemanager";
import { Account, type Address } from "@ethereumjs/util";
import { bigIntToBytes, bytesToBigInt, bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { type AccountRecord, EMPTY_ACCOUNT, EMPTY_CODE_HASH, NO_BYTES, type StateReader } from "./reader.js";

/** The changes of an overlay against its base. A deleted account maps to `undefined`. */
export interface StateChanges {
  readonly accounts: ReadonlyMap<Hex, AccountRecord | undefined>;
  /** Addresses whose storage in the base is deleted. */
  readonly wiped: ReadonlySet<Hex>;
  readonly slots: ReadonlyMap<Hex, ReadonlyMap<Hex, Uint8Array>>;
  readonly codes: ReadonlyMap<Hex, Uint8Array>;
}

/**
 * A writable state over a base, with checkpoints. A block under construction and a call each write into one.
 *
 * While a checkpoint is open, each write appends its undo step to a list. A checkpoint is a position in that list. EthereumJS' own state
 * manager copies its maps instead, which costs time for every account at every call. An overlay has no Merkle
 * root: the world state computes one per block from the changes.
 */
export class Overlay implements StateManagerInterface, StateReader {
  // The gas of SSTORE depends on a slot's value before the transaction (EIP-2200). The EVM reads a slot here before its first write.
  readonly originalStorageCache = new OriginalStorageCache(this.getStorage.bind(this));
  readonly #base: StateReader;
  readonly #accounts = new Map<Hex, AccountRecord | undefined>();
  readonly #slots = new Map<Hex, Map<Hex, Uint8Array>>();
  readonly #wiped = new Set<Hex>();
  readonly #codes = new Map<Hex, Uint8Array>();
  #undo: (() => void)[] = [];
  readonly #checkpoints: number[] = [];
  #contractSender: Hex | undefined;
  #nativeToken: Hex | undefined;

  constructor(base: StateReader) {
    this.#base = base;
  }

  get changes(): StateChanges {
    return { accounts: this.#accounts, wiped: this.#wiped, slots: this.#slots, codes: this.#codes };
  }

  // ---- synchronous reads and writes ----

  account(address: Hex): AccountRecord | undefined {
    return this.#accounts.has(address) ? this.#accounts.get(address) : this.#base.account(address);
  }

  slot(address: Hex, slot: Hex): Uint8Array {
    if (address === this.#nativeToken && slot.startsWith(BALANCE_SLOTS))
      return withoutLeadingZeros(bigIntToBytes(this.account(holderOf(slot))?.balance ?? 0n));
    const own = this.#slots.get(address)?.get(slot);
    if (own !== undefined) return own;
    return this.#wiped.has(address) ? NO_BYTES : this.#base.slot(address, slot);
  }

  code(codeHash: Hex): Uint8Array {
    return this.#codes.get(codeHash) ?? this.#base.code(codeHash);
  }

  setAccount(address: Hex, record: AccountRecord | undefined): void {
    const had = this.#accounts.has(address);
    const before = this.#accounts.get(address);
    this.#recordUndo(() => {
      if (had) this.#accounts.set(address, before);
      else this.#accounts.delete(address);
    });
    this.#accounts.set(address, record);
  }

  setSlot(address: Hex, slot: Hex, value: Uint8Array): void {
    if (address === this.#nativeToken && slot.startsWith(BALANCE_SLOTS)) {
      const holder = holderOf(slot);
      const record = this.account(holder) ?? EMPTY_ACCOUNT;
      this.setAccount(holder, { ...record, balance: bytesToBigInt(value) });
      return;
    }
    const slots = this.#slotsOf(address);
    const before = slots.get(slot);
    this.#recordUndo(() => {
      if (before === undefined) slots.delete(slot);
      else slots.set(slot, before);
    });
    slots.set(slot, withoutLeadingZeros(value));
  }

  setCode(address: Hex, code: Uint8Array): void {
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : bytesToHex(crypto.keccak256(code));
    // A revert leaves the code here. Nothing finds it then, because codes are looked up by an account's hash.
    if (code.length > 0) this.#codes.set(codeHash, code);
    this.setAccount(address, { ...(this.account(address) ?? EMPTY_ACCOUNT), codeHash });
  }

  wipeSlots(address: Hex): void {
    const before = this.#slots.get(address);
    const wasWiped = this.#wiped.has(address);
    this.#recordUndo(() => {
      if (before === undefined) this.#slots.delete(address);
      else this.#slots.set(address, before);
      if (!wasWiped) this.#wiped.delete(address);
    });
    this.#slots.delete(address);
    this.#wiped.add(address);
  }

  /**
   * Lets a contract send the next transaction, as an impersonated account may. EthereumJS first reads the
   * sender's code, to refuse contracts (EIP-3607). That one read returns a delegation (EIP-7702) instead.
   */
  allowContractSender(address: Hex): void {
    const codeHash = this.account(address)?.codeHash ?? EMPTY_CODE_HASH;
    if (codeHash !== EMPTY_CODE_HASH) this.#contractSender = address;
  }

  /** From now on, the balances of this contract are the accounts' own, and the zero address gets nothing (D39). */
  useNativeToken(address: Hex): void {
    this.#nativeToken = address;
  }

  // ---- StateManagerInterface ----

  async getAccount(address: Address): Promise<Account | undefined> {
    const record = this.account(hexOf(address));
    // The EVM changes the account before it puts it back, so each read needs a new object.
    return record && new Account(record.nonce, record.balance, undefined, hexToBytes(record.codeHash));
  }

  async putAccount(address: Address, account?: Account): Promise<void> {
    // The EVM takes an error here for a transfer that fails, as a balance of 2^256 is.
    const isPaid = this.#nativeToken !== undefined && (account?.balance ?? 0n) > 0n && address.isZero();
    if (isPaid) throw new EVMError(EVMError.errorMessages.REVERT);
    this.setAccount(hexOf(address), account && toRecord(account));
  }

  async deleteAccount(address: Address): Promise<void> {
    this.setAccount(hexOf(address), undefined);
    this.wipeSlots(hexOf(address));
  }

  async modifyAccountFields(address: Address, fields: AccountFields): Promise<void> {
    const account = (await this.getAccount(address)) ?? new Account();
    if (fields.nonce !== undefined) account.nonce = fields.nonce;
    if (fields.balance !== undefined) account.balance = fields.balance;
    if (fields.codeHash !== undefined) account.codeHash = fields.codeHash;
    this.setAccount(hexOf(address), toRecord(account));
  }

  async putCode(address: Address, value: Uint8Array): Promise<void> {
    this.setCode(hexOf(address), value);
  }

  async getCode(address: Address): Promise<Uint8Array> {
    const hex = hexOf(address);
    if (hex === this.#contractSender) {
      this.#contractSender = undefined;
      return DELEGATION;
    }
    const record = this.account(hex);
    return record === undefined || record.codeHash === EMPTY_CODE_HASH
      ? NO_BYTES
      : this.code(record.codeHash);
  }

  async getCodeSize(address: Address): Promise<number> {
    return (await this.getCode(address)).length;
  }

  async getStorage(address: Address, key: Uint8Array): Promise<Uint8Array> {
    return this.slot(hexOf(address), bytesToHex(key));
  }

  async putStorage(address: Address, key: Uint8Array, value: Uint8Array): Promise<void> {
    this.setSlot(hexOf(address), bytesToHex(key), value);
  }

  async clearStorage(address: Address): Promise<void> {
    this.wipeSlots(hexOf(address));
  }

  async checkpoint(): Promise<void> {
    this.#checkpoints.push(this.#undo.length);
  }

  async commit(): Promise<void> {
    this.#checkpoints.pop();
    // Without an open checkpoint there is nothing to revert to.
    if (this.#checkpoints.length === 0) this.#undo = [];
  }

  async revert(): Promise<void> {
    const start = this.#checkpoints.pop() ?? 0;
    while (this.#undo.length > start) this.#undo.pop()?.();
  }

  clearCaches(): void {}

  async getStateRoot(): Promise<Uint8Array> {
    throw new Error("an overlay has no state root: roots are computed when a block is sealed");
  }

  async setStateRoot(): Promise<void> {
    await this.getStateRoot();
  }

  async hasStateRoot(): Promise<boolean> {
    return false;
  }

  shallowCopy(): StateManagerInterface {
    return new Overlay(this);
  }

  #slotsOf(address: Hex): Map<Hex, Uint8Array> {
    const slots = this.#slots.get(address) ?? new Map<Hex, Uint8Array>();
    this.#slots.set(address, slots);
    return slots;
  }

  #recordUndo(undo: () => void): void {
    if (this.#checkpoints.length > 0) this.#undo.push(undo);
  }
}

/** Begins the slots of NativeToken.sol that stand for balances; the rest of 32 bytes is the account. */
const BALANCE_SLOTS: Hex = "0x62616c616e6365206f662061";

function holderOf(slot: Hex): Hex {
  return `0x${slot.slice(BALANCE_SLOTS.length)}`;
}

/** The first bytes of a delegated account's code (EIP-7702). */
const DELEGATION = Uint8Array.of(0xef, 0x01, 0x00);

function toRecord(account: Account): AccountRecord {
  return { nonce: account.nonce, balance: account.balance, codeHash: bytesToHex(account.codeHash) };
}

function hexOf(address: Address): Hex {
  return bytesToHex(address.bytes);
}

function withoutLeadingZeros(value: Uint8Array): Uint8Array {
  let start = 0;
  while (start < value.length && value[start] === 0) start++;
  return start === 0 ? value : value.slice(start);
}
