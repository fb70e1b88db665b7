import type { AccountFields, StateManagerInterface } from "@ethereumjs/common";
import { Account, type Address } from "@ethereumjs/util";
import { bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { type AccountRecord, EMPTY_ACCOUNT, EMPTY_CODE_HASH, NO_BYTES, type StateReader } from "./reader.js";

/** The changes that an overlay holds over its base. `undefined` is an account that is gone. */
export interface StateChanges {
  readonly accounts: ReadonlyMap<Hex, AccountRecord | undefined>;
  /** Addresses whose storage in the base counts for nothing any more. */
  readonly wiped: ReadonlySet<Hex>;
  readonly slots: ReadonlyMap<Hex, ReadonlyMap<Hex, Uint8Array>>;
  readonly codes: ReadonlyMap<Hex, Uint8Array>;
}

/**
 * Changes over a base state, with checkpoints: what a block in the making or a call writes into.
 *
 * Each write notes how to take itself back, so a checkpoint is a position in that list and costs nothing,
 * where a manager that copies its maps pays for every account at every call. Merkle roots are none of its
 * business: they are computed once per block from the changes.
 */
export class Overlay implements StateManagerInterface, StateReader {
  readonly originalStorageCache = new OriginalValues(this);
  readonly #base: StateReader;
  readonly #accounts = new Map<Hex, AccountRecord | undefined>();
  readonly #slots = new Map<Hex, Map<Hex, Uint8Array>>();
  readonly #wiped = new Set<Hex>();
  readonly #codes = new Map<Hex, Uint8Array>();
  #undo: (() => void)[] = [];
  readonly #marks: number[] = [];
  #contractSender: Hex | undefined;

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
    this.#note(() => {
      if (had) this.#accounts.set(address, before);
      else this.#accounts.delete(address);
    });
    this.#accounts.set(address, record);
  }

  setSlot(address: Hex, slot: Hex, value: Uint8Array): void {
    const slots = this.#slotsOf(address);
    const before = slots.get(slot);
    this.#note(() => {
      if (before === undefined) slots.delete(slot);
      else slots.set(slot, before);
    });
    slots.set(slot, withoutLeadingZeros(value));
  }

  setCode(address: Hex, code: Uint8Array): void {
    const codeHash = code.length === 0 ? EMPTY_CODE_HASH : bytesToHex(crypto.keccak256(code));
    // Codes are found by their hash only, so one that a revert leaves behind is never seen.
    if (code.length > 0) this.#codes.set(codeHash, code);
    this.setAccount(address, { ...(this.account(address) ?? EMPTY_ACCOUNT), codeHash });
  }

  wipeSlots(address: Hex): void {
    const before = this.#slots.get(address);
    const wasWiped = this.#wiped.has(address);
    this.#note(() => {
      if (before === undefined) this.#slots.delete(address);
      else this.#slots.set(address, before);
      if (!wasWiped) this.#wiped.delete(address);
    });
    this.#slots.delete(address);
    this.#wiped.add(address);
  }

  /**
   * Lets a contract send the next transaction, as an impersonated account may. EthereumJS asks for a sender's
   * code to refuse contracts (EIP-3607), before anything else does: that one time it gets a delegation.
   */
  allowContractSender(address: Hex): void {
    const codeHash = this.account(address)?.codeHash ?? EMPTY_CODE_HASH;
    if (codeHash !== EMPTY_CODE_HASH) this.#contractSender = address;
  }

  // ---- StateManagerInterface ----

  async getAccount(address: Address): Promise<Account | undefined> {
    const record = this.account(hexOf(address));
    // A fresh object each time, because the EVM changes what it gets before it puts it back.
    return record && new Account(record.nonce, record.balance, undefined, hexToBytes(record.codeHash));
  }

  async putAccount(address: Address, account?: Account): Promise<void> {
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
    this.#marks.push(this.#undo.length);
  }

  async commit(): Promise<void> {
    this.#marks.pop();
    // Without an open checkpoint nobody can ask to go back.
    if (this.#marks.length === 0) this.#undo = [];
  }

  async revert(): Promise<void> {
    const mark = this.#marks.pop() ?? 0;
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }

  clearCaches(): void {}

  async getStateRoot(): Promise<Uint8Array> {
    throw new StateRootUnavailableError();
  }

  async setStateRoot(): Promise<void> {
    throw new StateRootUnavailableError();
  }

  async hasStateRoot(): Promise<boolean> {
    return false;
  }

  shallowCopy(): StateManagerInterface {
    return new Overlay(this);
  }

  #slotsOf(address: Hex): Map<Hex, Uint8Array> {
    let slots = this.#slots.get(address);
    if (slots === undefined) {
      slots = new Map();
      this.#slots.set(address, slots);
    }
    return slots;
  }

  #note(undo: () => void): void {
    if (this.#marks.length > 0) this.#undo.push(undo);
  }
}

/** The value a slot had when the transaction began: SSTORE's gas depends on it (EIP-2200). */
class OriginalValues {
  readonly #values = new Map<string, Uint8Array>();
  readonly #reader: StateReader;

  constructor(reader: StateReader) {
    this.#reader = reader;
  }

  // The EVM asks before its first write to a slot, so the first answer is the value before the transaction.
  async get(address: Address, key: Uint8Array): Promise<Uint8Array> {
    const addressHex = hexOf(address);
    const slot = bytesToHex(key);
    const id = addressHex + slot;
    let value = this.#values.get(id);
    if (value === undefined) {
      value = this.#reader.slot(addressHex, slot);
      this.#values.set(id, value);
    }
    return value;
  }

  clear(): void {
    this.#values.clear();
  }
}

/** Roots belong to sealed blocks; an overlay is by definition something not sealed. */
export class StateRootUnavailableError extends Error {
  override readonly name = "StateRootUnavailableError";
  constructor() {
    super("an overlay has no state root: roots are computed when a block is sealed");
  }
}

/** How the code of a delegated account begins (EIP-7702). */
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
