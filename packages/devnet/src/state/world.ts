import { crypto, encodeRlp, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { StateChanges } from "./overlay.js";
import { type AccountRecord, NO_BYTES, type StateReader } from "./reader.js";
import { EMPTY_ROOT, Trie } from "./trie.js";

/**
 * The values that a block, or a patch between blocks, overwrote. They are enough to read the state before
 * it, and to go back to it.
 */
interface Diff {
  readonly accounts: Map<Hex, AccountRecord | undefined>;
  readonly slots: Map<Hex, Map<Hex, Uint8Array>>;
}

/** A Merkle proof: trie nodes as RLP, each list ordered from the root. */
export interface StateProof {
  readonly account: readonly Uint8Array[];
  readonly storageRoot: Hex;
  /** One list for each requested slot. */
  readonly slots: readonly (readonly Uint8Array[])[];
}

/** An account of the latest state, with its slots that are not 0. */
export interface StoredAccount {
  readonly address: Hex;
  readonly record: AccountRecord;
  readonly slots: ReadonlyMap<Hex, Uint8Array>;
}

/** A point in the state's history, to roll back to. */
export interface StateMark {
  readonly block: number;
  /** The number of diffs made before it, since genesis. */
  readonly position: number;
}

/**
 * Holds the state after the latest block, its Merkle root, and its recent history.
 *
 * The latest state is plain maps. Each block, and each patch between blocks, leaves a diff with the values that
 * it overwrote. A past state is the latest one, read through the diffs made since. The tries only produce roots
 * and proofs; writes reach them when a root is computed.
 */
export class WorldState implements StateReader {
  readonly #accounts = new Map<Hex, AccountRecord>();
  readonly #slots = new Map<Hex, Map<Hex, Uint8Array>>();
  readonly #codes = new Map<Hex, Uint8Array>();
  readonly #trie = new Trie();
  readonly #storageTries = new Map<Hex, Trie>();
  /** Accounts and slots written since the tries were last updated. */
  readonly #stale = new Map<Hex, Set<Hex>>();
  /** `#diffs[i]` leads from position `#dropped + i + 1` back to position `#dropped + i`. */
  readonly #diffs: Diff[] = [];
  #dropped = 0;
  /** `#ends[i]` is the position right after the diff of block `#oldest + i`. */
  readonly #ends: number[] = [0];
  #oldest = 0;
  /** Marks that a caller may roll back to. The diffs that lead there are kept. */
  readonly #pins = new Set<StateMark>();
  readonly #historyBlocks: number;

  /** @param historyBlocks the number of past states that stay readable. */
  constructor(historyBlocks: number) {
    this.#historyBlocks = historyBlocks;
  }

  /** The oldest block whose state can be read. */
  get oldestBlock(): number {
    return this.#oldest;
  }

  account(address: Hex): AccountRecord | undefined {
    return this.#accounts.get(address);
  }

  *accounts(): Iterable<StoredAccount> {
    for (const [address, record] of this.#accounts) {
      yield { address, record, slots: this.#slots.get(address) ?? new Map() };
    }
  }

  slot(address: Hex, slot: Hex): Uint8Array {
    return this.#slots.get(address)?.get(slot) ?? NO_BYTES;
  }

  code(codeHash: Hex): Uint8Array {
    return this.#codes.get(codeHash) ?? NO_BYTES;
  }

  root(): Hex {
    for (const [address, slots] of this.#stale) this.#updateTries(address, slots);
    this.#stale.clear();
    return this.#trie.root();
  }

  /** The latest block's number. */
  get #head(): number {
    return this.#oldest + this.#ends.length - 1;
  }

  get #position(): number {
    return this.#dropped + this.#diffs.length;
  }

  /**
   * The state after a block. It stays valid while the history keeps the block. The latest block's state includes
   * changes made since that block; an older block's state is the one that its state root commits to.
   * @returns undefined for a block that is older than the kept history.
   */
  at(block: number): StateReader | undefined {
    const end = block === this.#head ? this.#position : this.#ends[block - this.#oldest];
    return end === undefined ? undefined : stateAt(this, end);
  }

  /** The state on which a block was built: its parent's, with the patches made between the two. */
  before(block: number): StateReader | undefined {
    const end = this.#ends[block - this.#oldest];
    return end === undefined || block === this.#oldest ? undefined : stateAt(this, end - 1);
  }

  /** The account as the first diff at or after `position` overwrote it. Past states read through this. */
  accountBefore(position: number, address: Hex): { readonly record: AccountRecord | undefined } | undefined {
    for (let i = Math.max(0, position - this.#dropped); i < this.#diffs.length; i++) {
      const accounts = this.#diffs[i]?.accounts;
      if (accounts?.has(address)) return { record: accounts.get(address) };
    }
    return undefined;
  }

  /** The slot as the first diff at or after `position` overwrote it. Past states read through this. */
  slotBefore(position: number, address: Hex, slot: Hex): Uint8Array | undefined {
    for (let i = Math.max(0, position - this.#dropped); i < this.#diffs.length; i++) {
      const value = this.#diffs[i]?.slots.get(address)?.get(slot);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** True while nothing has changed since the latest block, whose header then has this state's root. */
  get isSealed(): boolean {
    return this.#position === (this.#ends[this.#ends.length - 1] ?? 0);
  }

  /** Proves an account of the latest state, and slots of its storage, against {@link root}. */
  prove(address: Hex, slots: readonly Hex[]): StateProof {
    const storage = this.#storageTries.get(address);
    return {
      account: this.#trie.prove(hashedKey(address)),
      storageRoot: storage?.root() ?? EMPTY_ROOT,
      slots: slots.map((slot) => storage?.prove(hashedKey(slot)) ?? []),
    };
  }

  /** Begins anew from genesis. The history and all marks are gone. */
  restart(genesis: StateChanges): void {
    for (const map of [this.#accounts, this.#slots, this.#codes, this.#storageTries, this.#stale])
      map.clear();
    this.#trie.clear();
    this.#pins.clear();
    this.#diffs.length = 0;
    this.#dropped = 0;
    this.#ends.splice(0, this.#ends.length, 0);
    this.#oldest = 0;
    this.applyGenesis(genesis);
  }

  /** Applies genesis, which has no state before it. */
  applyGenesis(changes: StateChanges): Hex {
    this.#write(changes);
    return this.root();
  }

  /** Applies a block's changes and returns the new root. */
  apply(changes: StateChanges): Hex {
    this.applyUnrooted(changes);
    return this.root();
  }

  /** Applies a block's changes without computing the root. A restart applies many blocks and checks one root. */
  applyUnrooted(changes: StateChanges): void {
    this.#diffs.push(this.#write(changes));
    this.#ends.push(this.#position);
    this.#forgetOld();
  }

  /** Changes the state between two blocks. Reads see it at once, and the next block's root commits to it. */
  patch(changes: StateChanges): void {
    this.#diffs.push(this.#write(changes));
  }

  /** Marks the latest state, and keeps the diffs that lead back to it until {@link unpin}. */
  pin(): StateMark {
    const mark = { block: this.#head, position: this.#position };
    this.#pins.add(mark);
    return mark;
  }

  unpin(mark: StateMark): void {
    this.#pins.delete(mark);
    this.#forgetOld();
  }

  /** Makes the marked state the latest again. The mark must be pinned. */
  rollBack({ block, position }: StateMark): void {
    while (this.#position > position) {
      const diff = this.#diffs.pop();
      if (diff === undefined) break;
      this.#undo(diff);
    }
    this.#ends.length = block - this.#oldest + 1;
  }

  #forgetOld(): void {
    let oldestKept = this.#head - this.#historyBlocks;
    for (const { block } of this.#pins) oldestKept = Math.min(oldestKept, block);
    while (this.#oldest < oldestKept) {
      this.#ends.shift();
      this.#oldest++;
      const start = this.#ends[0] ?? this.#position;
      this.#diffs.splice(0, start - this.#dropped);
      this.#dropped = start;
    }
  }

  #undo({ accounts, slots }: Diff): void {
    const unused: Diff = { accounts: new Map(), slots: new Map() };
    for (const [address, values] of slots) {
      for (const [slot, value] of values) this.#writeSlot(unused, address, slot, value);
    }
    for (const [address, record] of accounts) this.#writeAccount(unused, address, record);
  }

  #write(changes: StateChanges): Diff {
    const diff: Diff = { accounts: new Map(), slots: new Map() };
    for (const [hash, code] of changes.codes) this.#codes.set(hash, code);
    for (const address of changes.wiped) {
      for (const slot of [...(this.#slots.get(address)?.keys() ?? [])]) {
        this.#writeSlot(diff, address, slot, NO_BYTES);
      }
    }
    for (const [address, slots] of changes.slots) {
      for (const [slot, value] of slots) this.#writeSlot(diff, address, slot, value);
    }
    for (const [address, record] of changes.accounts) this.#writeAccount(diff, address, record);
    return diff;
  }

  #writeAccount(diff: Diff, address: Hex, record: AccountRecord | undefined): void {
    this.#staleSlotsOf(address);
    diff.accounts.set(address, this.#accounts.get(address));
    if (record === undefined) this.#accounts.delete(address);
    else this.#accounts.set(address, record);
  }

  #writeSlot(diff: Diff, address: Hex, slot: Hex, value: Uint8Array): void {
    const slots = this.#slots.get(address) ?? new Map<Hex, Uint8Array>();
    this.#slots.set(address, slots);
    const overwritten = diff.slots.get(address) ?? new Map<Hex, Uint8Array>();
    diff.slots.set(address, overwritten);
    // A slot that one block wipes and writes again comes here twice. The first value is the one before the block.
    if (!overwritten.has(slot)) overwritten.set(slot, slots.get(slot) ?? NO_BYTES);
    if (value.length === 0) slots.delete(slot);
    else slots.set(slot, value);
    this.#staleSlotsOf(address).add(slot);
  }

  #staleSlotsOf(address: Hex): Set<Hex> {
    const slots = this.#stale.get(address) ?? new Set<Hex>();
    this.#stale.set(address, slots);
    return slots;
  }

  #storageTrie(address: Hex): Trie {
    const trie = this.#storageTries.get(address) ?? new Trie();
    this.#storageTries.set(address, trie);
    return trie;
  }

  #updateTries(address: Hex, slots: ReadonlySet<Hex>): void {
    const trie = slots.size === 0 ? undefined : this.#storageTrie(address);
    for (const slot of slots) {
      const value = this.slot(address, slot);
      trie?.put(hashedKey(slot), value.length === 0 ? NO_BYTES : encodeRlp(value));
    }
    const record = this.#accounts.get(address);
    if (record === undefined) {
      this.#trie.put(hashedKey(address), NO_BYTES);
      if (this.#slots.get(address)?.size === 0) this.#forgetStorage(address);
      return;
    }
    const storageRoot = this.#storageTries.get(address)?.root() ?? EMPTY_ROOT;
    const value = encodeRlp([
      record.nonce,
      record.balance,
      hexToBytes(storageRoot),
      hexToBytes(record.codeHash),
    ]);
    this.#trie.put(hashedKey(address), value);
  }

  #forgetStorage(address: Hex): void {
    this.#slots.delete(address);
    this.#storageTries.delete(address);
  }
}

/** The state at a position of the history. */
function stateAt(world: WorldState, position: number): StateReader {
  return {
    account(address) {
      const before = world.accountBefore(position, address);
      return before === undefined ? world.account(address) : before.record;
    },
    slot: (address, slot) => world.slotBefore(position, address, slot) ?? world.slot(address, slot),
    code: (codeHash) => world.code(codeHash),
  };
}

function hashedKey(hex: Hex): Uint8Array {
  return crypto.keccak256(hexToBytes(hex));
}
