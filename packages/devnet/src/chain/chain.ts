import { randomBytes } from "node:crypto";
import { bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { type BlockDraft, type SealedBlock, sealedBlock } from "../block/block.js";
import type { CallTracer } from "../evm/callTracer.js";
import { type BlockEnvironment, type Call, type CallOutcome, Execution } from "../evm/executor.js";
import type { AdmissionRules, PoolEntry, SentTransaction } from "../pool/admission.js";
import type { PoolKind } from "../pool/nonceRules.js";
import { Pool, type PoolLimits } from "../pool/pool.js";
import { admitToPool } from "../pool/poolKind.js";
import { RefusedError } from "../pool/refusedError.js";
import { TEST_TOKEN } from "../presets/constants.js";
import type { Profile } from "../presets/profiles.js";
import { Overlay, type StateChanges } from "../state/overlay.js";
import type { StateReader } from "../state/reader.js";
import { type StateMark, type StateProof, type StoredAccount, WorldState } from "../state/world.js";
import { buildBlock, isInnerAhead } from "./builder.js";
import { Clock, type ClockSetting } from "./clock.js";
import { type BlockSettings, environmentAfter, environmentOf } from "./environment.js";
import { genesisState } from "./genesis.js";
import type { Journal } from "./journal.js";
import { Ledger } from "./ledger.js";
import { restore } from "./restore.js";

export interface ChainOptions extends AdmissionRules, PoolLimits {
  /** The contracts and balances of genesis. */
  readonly profile: Profile;
  /** The initial kind of pool; {@link Chain.poolKind} changes it. */
  readonly pool: PoolKind;
  /** The number of past states that stay readable. */
  readonly historyBlocks: number;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/** Options of a call. `environment` overrides fields of its block. */
export interface CallOptions {
  readonly environment?: Partial<BlockEnvironment>;
  readonly tracer?: CallTracer | undefined;
}

/** The chain at one moment. */
interface Snapshot {
  readonly mark: StateMark;
  /** The entries of the pool. */
  readonly waiting: readonly PoolEntry[];
  readonly clock: ClockSetting;
}

/** The chain: its blocks, its state, and the pool of transactions that wait for a block. */
export class Chain {
  readonly blockSettings: BlockSettings = {};
  readonly pool: Pool;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** May change while the chain runs. Waiting transactions stay in the pool. */
  poolKind: PoolKind;
  readonly #initialOptions: ChainOptions;
  #options: ChainOptions;
  readonly #world: WorldState;
  readonly #journal: Journal | undefined;
  readonly #listeners = new Set<(block: SealedBlock) => void>();
  readonly #preparations = new Set<(number: number) => Promise<void>>();
  readonly #removalListeners = new Set<(block: SealedBlock) => void>();
  /** By number, from 1 up. */
  readonly #snapshots = new Map<number, Snapshot>();
  #lastSnapshot = 0;
  #lastChange: Promise<unknown> = Promise.resolve();

  /** @param journal keeps the chain, and restores it at the start. Without one the chain is in memory only. */
  constructor(options: ChainOptions, journal?: Journal) {
    this.#initialOptions = options;
    this.#options = options;
    this.#journal = journal;
    this.poolKind = options.pool;
    this.clock = new Clock(options.now);
    this.pool = new Pool(options);
    this.#world = new WorldState(options.historyBlocks);
    const stateRoot = this.#world.applyGenesis(genesisState(this.#initialOptions.profile).changes);
    const genesis = sealedBlock([], {
      number: 0n,
      timestamp: this.clock.now(),
      gasLimit: options.blockGasLimit,
      baseFeePerGas: options.baseFee,
      stateRoot: hexToBytes(stateRoot),
      // A chain that begins in the same second as another one has its own genesis hash: stores tell chains apart by it.
      extraData: randomBytes(16),
    });
    this.ledger = new Ledger(journal?.open(genesis) ?? genesis);
    if (journal === undefined) return;
    restore(journal, this.ledger, this.#world);
    // If the clock was moved forward earlier, move it again, or blocks would repeat the latest timestamp until then.
    const ahead = this.head.header.timestamp - this.clock.now();
    if (ahead > 0n) this.clock.increase(ahead);
  }

  get options(): ChainOptions {
    return this.#options;
  }

  /** Changes rules of admission for the transactions that come from now on, and for the next blocks. */
  changeRules(rules: Partial<AdmissionRules>): void {
    this.#options = { ...this.#options, ...rules };
  }

  get head(): SealedBlock {
    return this.ledger.head;
  }

  /** The oldest block whose state can be read. */
  get oldestState(): number {
    return this.#world.oldestBlock;
  }

  /** The state after a block; undefined if it is not kept or the block does not exist. */
  stateAt(number: number): StateReader | undefined {
    return this.#world.at(number);
  }

  /** The state after the latest block. */
  get state(): StateReader {
    return this.#world;
  }

  /** The accounts of the latest state, with their storage. */
  accounts(): Iterable<StoredAccount> {
    return this.#world.accounts();
  }

  /**
   * Adds signed bytes to the pool.
   * @returns the transaction's hash. A wrapper's hash is its own, not the inner's.
   * @throws ProtocolError or RefusedError for the first check that fails. Nothing has changed then.
   */
  send(raw: Uint8Array): Promise<Hex> {
    return this.admit({ raw, hash: bytesToHex(crypto.keccak256(raw)) });
  }

  /** Like {@link send}, also for a transaction of an impersonated sender. */
  async admit(tx: SentTransaction): Promise<Hex> {
    const { hash } = tx;
    this.pool.assertUnknown(hash);
    // An inner in a block was never sent by itself. Sent now, it is refused for its price (D11).
    const role = this.ledger.transaction(hash)?.included.role;
    if (role !== undefined && role !== "inner") {
      throw new RefusedError("ALREADY_KNOWN", `already known: ${hash} is in a block`, { hash });
    }
    await admitToPool(this.pool, this.poolKind, tx, this.state, this.options);
    return hash;
  }

  /** Builds the next block, an empty one if no transaction is ready. Concurrent calls run one after the other. */
  mine(): Promise<SealedBlock> {
    return this.#inTurn(() => this.#build());
  }

  /** Mines if some transaction can run: its nonce is the signer's next, and its inner's is the sender's next. */
  async mineIfReady(): Promise<SealedBlock | undefined> {
    await this.#lastChange;
    const ready = this.pool
      .signers()
      .map((signer) => this.pool.get(signer, this.state.account(signer)?.nonce ?? 0n))
      .some((entry) => entry !== undefined && !isInnerAhead(entry, this.state));
    return ready ? this.mine() : undefined;
  }

  /**
   * Changes the state between two blocks, as no transaction does. Reads of the latest state see it at once; the next state root
   * has it.
   * @param change writes into an overlay over the latest state.
   */
  patch(change: (state: Overlay) => void): Promise<void> {
    return this.#inTurn(() => {
      const state = new Overlay(this.#world);
      change(state);
      this.#journal?.patch(state.changes);
      this.#world.patch(state.changes);
      this.#prunePool(state.changes);
    });
  }

  /** Takes a snapshot of the chain, the pool and the clock. @returns its number for {@link revert}. */
  snapshot(): Promise<number> {
    return this.#inTurn(() => {
      const [mark, waiting, clock] = [this.#world.pin(), this.pool.entries(), this.clock.setting];
      this.#snapshots.set(++this.#lastSnapshot, { mark, waiting, clock });
      return this.#lastSnapshot;
    });
  }

  /** Goes back to a snapshot, and discards it and all later ones. @returns false if there is no such snapshot. */
  revert(id: number): Promise<boolean> {
    return this.#inTurn(() => {
      const found = this.#snapshots.get(id);
      if (found === undefined) return false;
      const { mark, waiting, clock } = found;
      this.#journal?.rollBack(mark);
      this.#world.rollBack(mark);
      for (const [number, later] of [...this.#snapshots]) {
        if (number < id) continue;
        this.#snapshots.delete(number);
        this.#world.unpin(later.mark);
      }
      this.#truncate(mark.block, waiting);
      this.clock.restore(clock);
      return true;
    });
  }

  /** Goes back to genesis. Snapshots, waiting transactions, and changes of the clock, of blocks and of rules are gone. */
  reset(): Promise<void> {
    return this.#inTurn(() => {
      this.#journal?.rollBack({ block: 0, position: 0 });
      this.#world.restart(genesisState(this.#initialOptions.profile).changes);
      this.#snapshots.clear();
      this.#options = this.#initialOptions;
      this.blockSettings.coinbase = undefined;
      this.blockSettings.nextPrevRandao = undefined;
      this.clock.reset();
      this.#truncate(0, []);
    });
  }

  /** Removes the blocks after a number, and replaces the pool. */
  #truncate(block: number, waiting: readonly PoolEntry[]): void {
    const removed = this.ledger.truncate(block);
    this.pool.replaceAll(waiting);
    for (const gone of removed.reverse()) for (const listener of this.#removalListeners) listener(gone);
  }

  /** Reports each block that a revert removes, latest first. @returns the function that unsubscribes. */
  onRemoved(listener: (block: SealedBlock) => void): () => void {
    this.#removalListeners.add(listener);
    return () => this.#removalListeners.delete(listener);
  }

  /** Runs an unsigned call on a state and discards its changes. */
  async call(
    call: Call,
    block: SealedBlock,
    state: StateReader,
    { environment = {}, tracer }: CallOptions = {},
  ): Promise<CallOutcome> {
    const callEnvironment = { ...environmentOf(block, this.ledger, this.#options.chainId), ...environment };
    const execution = await this.#open(new Overlay(state), callEnvironment, tracer);
    return execution.call(call);
  }

  /** Opens the EVM with the environment of a block, over a state that the caller owns. */
  openIn(block: SealedBlock, state: Overlay, tracer?: CallTracer): Promise<Execution> {
    return this.#open(state, environmentOf(block, this.ledger, this.#options.chainId), tracer);
  }

  /**
   * The gas token of the profile `stable` is also an ERC-20 contract: its balances are the accounts' native ones
   * (contracts/NativeToken.sol), and nothing goes to the zero address.
   */
  #open(state: Overlay, environment: BlockEnvironment, tracer?: CallTracer): Promise<Execution> {
    if (this.#options.profile === "stable") state.useNativeToken(bytesToHex(TEST_TOKEN));
    return Execution.open(state, environment, tracer);
  }

  /** Proves an account of the latest block's state; undefined while the state has patches that no block has yet. */
  prove(address: Hex, slots: readonly Hex[]): StateProof | undefined {
    return this.#world.isSealed ? this.#world.prove(address, slots) : undefined;
  }

  /** The state on which a block was built; undefined if it is not kept. */
  stateBefore(number: number): StateReader | undefined {
    return this.#world.before(number);
  }

  /** Reports each new block as soon as it can be read. @returns the function that unsubscribes. */
  onBlock(listener: (block: SealedBlock) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls `prepare` before each block. It may still add transactions to the pool.
   * @returns the function that unsubscribes.
   */
  beforeBlock(prepare: (number: number) => Promise<void>): () => void {
    this.#preparations.add(prepare);
    return () => this.#preparations.delete(prepare);
  }

  /** Resolves when the chain's changes that have been asked for are done, such as the block that is being built. */
  async idle(): Promise<void> {
    await this.#lastChange;
  }

  /** Runs changes of the chain one after the other. */
  #inTurn<T>(run: () => T | Promise<T>): Promise<T> {
    const next = this.#lastChange.then(run);
    this.#lastChange = next.catch(() => undefined);
    return next;
  }

  async #build(): Promise<SealedBlock> {
    const parent = this.head;
    for (const prepare of this.#preparations) await prepare(parent.number + 1);
    const { pool, options: rules } = this;
    const { ledger, clock, blockSettings: settings } = this;
    const environment = environmentAfter(parent, { ledger, clock, settings, rules });
    const state = new Overlay(this.#world);
    const execution = await this.#open(state, environment);
    const draft = await buildBlock(state, { execution, environment, pool, rules });
    // From here on nothing awaits, except after a failure, so no reader sees a state without its block.
    const mark = this.#world.pin();
    const block = draft.seal(environment, parent.hash, this.#world.apply(state.changes));
    try {
      this.#journal?.block(block, state.changes);
    } catch (error) {
      this.#world.rollBack(mark);
      await this.#readmit(draft);
      throw error;
    } finally {
      this.#world.unpin(mark);
    }
    this.ledger.append(block);
    this.#prunePool(state.changes);
    if (this.poolKind === "strict")
      pool.recheckSequence((account) => this.state.account(account)?.nonce ?? 0n);
    for (const listener of this.#listeners) listener(block);
    return block;
  }

  /** Drops transactions whose nonces the changes have used. */
  #prunePool({ accounts }: StateChanges): void {
    for (const [account, record] of accounts) this.pool.prune(account, record?.nonce ?? 0n);
  }

  /** Returns to the pool the transactions of a block that the journal could not keep. */
  async #readmit(draft: BlockDraft): Promise<void> {
    for (const { tx, role } of draft.included) {
      // The bytes of an impersonated transaction do not give its sender, so keep the known one.
      if (role === "ordinary") await this.admit(tx).catch(() => undefined);
      if (role === "wrapper") await this.send(tx.raw).catch(() => undefined);
    }
  }
}
