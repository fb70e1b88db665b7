import { bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { type BlockDraft, type SealedBlock, sealedBlock } from "../block/block.js";
import type { ChainTransaction } from "../block/transaction.js";
import type { CallTracer } from "../evm/callTracer.js";
import type { BlockEnvironment, Call, CallOutcome, Execution, Executor } from "../evm/executor.js";
import type { AdmissionRules } from "../pool/admission.js";
import { Pool, type PoolLimits } from "../pool/pool.js";
import { admitTo, type PoolKind } from "../pool/poolKind.js";
import { RefusedError } from "../pool/refusedError.js";
import { Overlay, type StateChanges } from "../state/overlay.js";
import type { StateReader } from "../state/reader.js";
import { type StateProof, WorldState } from "../state/world.js";
import { buildBlock, isAhead } from "./builder.js";
import { Clock } from "./clock.js";
import { environmentAfter, environmentOf } from "./environment.js";
import { genesisState } from "./genesis.js";
import type { Journal } from "./journal.js";
import { Ledger } from "./ledger.js";
import { restore } from "./restore.js";
import { Snapshots } from "./snapshots.js";
import { applyStep, type StateStep } from "./stateStep.js";

export interface ChainOptions extends AdmissionRules, PoolLimits {
  /** How the pool takes nonces; {@link Chain.poolKind} changes it. */
  readonly pool: PoolKind;
  /** How many states before the latest one stay readable. */
  readonly historyBlocks: number;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/** What a call may be given that differs from the block's. */
export interface CallChanges {
  readonly environment?: Partial<BlockEnvironment>;
  readonly tracer?: CallTracer | undefined;
}

/** The chain: its blocks, its state, and the pool of what comes next. */
export class Chain {
  readonly options: ChainOptions;
  readonly pool: Pool;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** May change while the chain runs: what waits, waits on. */
  poolKind: PoolKind;
  readonly #world: WorldState;
  readonly #executor: Executor;
  readonly #journal: Journal | undefined;
  readonly #listeners = new Set<(block: SealedBlock) => void>();
  readonly #preparations = new Set<(number: number) => Promise<void>>();
  readonly #removalListeners = new Set<(block: SealedBlock) => void>();
  readonly #snapshots = new Snapshots();
  #building: Promise<unknown> = Promise.resolve();

  /** @param journal keeps the chain, and brings back what it kept earlier. In memory only without one. */
  constructor(options: ChainOptions, executor: Executor, journal?: Journal) {
    this.options = options;
    this.#executor = executor;
    this.#journal = journal;
    this.poolKind = options.pool;
    this.clock = new Clock(options.now);
    this.pool = new Pool(options);
    this.#world = new WorldState(options.historyBlocks);
    const stateRoot = this.#world.applyGenesis(genesisState().changes);
    const genesis = sealedBlock([], {
      number: 0n,
      timestamp: this.clock.now(),
      gasLimit: options.blockGasLimit,
      stateRoot: hexToBytes(stateRoot),
    });
    this.ledger = new Ledger(journal?.open(genesis) ?? genesis);
    if (journal === undefined) return;
    restore(journal, this.ledger, this.#world);
    // Time that was moved forward stays moved, or blocks would repeat one timestamp until the clock is there.
    const ahead = this.head.header.timestamp - this.clock.now();
    if (ahead > 0n) this.clock.increase(ahead);
  }

  get head(): SealedBlock {
    return this.ledger.head;
  }

  /** The oldest block whose state can still be read. */
  get oldestState(): number {
    return this.#world.oldestBlock;
  }

  /** The state after a block, undefined for one that is not kept or not there. */
  stateAt(number: number): StateReader | undefined {
    return this.#world.at(number);
  }

  /** The state after the latest block. */
  get state(): StateReader {
    return this.#world;
  }

  /**
   * Takes signed bytes into the pool.
   * @returns the transaction's hash; for a wrapper its own, not the inner's.
   * @throws ProtocolError or RefusedError for the first check that fails; nothing has changed then.
   */
  send(raw: Uint8Array): Promise<Hex> {
    return this.#take(bytesToHex(crypto.keccak256(raw)), raw);
  }

  /** Like {@link send}, for a transaction that no key of its sender's has signed. */
  sendImpersonated(tx: ChainTransaction): Promise<Hex> {
    return this.#take(tx.hash, tx);
  }

  async #take(hash: Hex, tx: Uint8Array | ChainTransaction): Promise<Hex> {
    this.pool.assertUnknown(hash);
    // D11: an inner was never sent by itself, and is refused for its price as before it was carried.
    const role = this.ledger.transaction(hash)?.included.role;
    if (role !== undefined && role !== "inner") {
      throw new RefusedError("ALREADY_KNOWN", `already known: ${hash} is in a block`, { hash });
    }
    await admitTo(this.pool, this.poolKind, tx, this.state, this.options);
    return hash;
  }

  /** Builds the next block of what is ready, also when that is nothing. Calls wait for each other. */
  mine(): Promise<SealedBlock> {
    return this.#inTurn(() => this.#build());
  }

  /** Mines only if some transaction can run: it is next in its signer's order, and its inner in its sender's. */
  async mineIfReady(): Promise<SealedBlock | undefined> {
    await this.#building;
    const ready = this.pool
      .signers()
      .map((signer) => this.pool.get(signer, this.state.account(signer)?.nonce ?? 0n))
      .some((entry) => entry !== undefined && !isAhead(entry, this.state));
    return ready ? this.mine() : undefined;
  }

  /** Changes the state between blocks. Reads of the latest state see it at once; the next block's root has it. */
  change(step: StateStep): Promise<void> {
    return this.#inTurn(() => {
      const state = new Overlay(this.#world);
      applyStep(step, state);
      this.#journal?.patch(state.changes);
      this.#world.patch(state.changes);
      this.#prunePool(state.changes);
    });
  }

  /** Remembers the chain as it is, the pool and the clock included. @returns the number to go back by. */
  snapshot(): Promise<number> {
    return this.#inTurn(() =>
      this.#snapshots.add({
        mark: this.#world.pin(),
        waiting: this.pool.entries(),
        clock: this.clock.setting,
      }),
    );
  }

  /** Goes back to a snapshot, which is used up by that, as are later ones. @returns false if there is no such. */
  revert(id: number): Promise<boolean> {
    return this.#inTurn(() => {
      const taken = this.#snapshots.take(id);
      if (taken === undefined) return false;
      const { mark, waiting, clock } = taken.snapshot;
      this.#journal?.rollBack(mark);
      this.#world.rollBack(mark);
      for (const { mark: voided } of taken.voided) this.#world.unpin(voided);
      const removed = this.ledger.truncate(mark.block);
      this.pool.replaceAll(waiting);
      this.clock.restore(clock);
      for (const block of removed.reverse()) for (const listener of this.#removalListeners) listener(block);
      return true;
    });
  }

  /** Tells of each block that is taken back, latest first. @returns how to stop. */
  onRemoved(listener: (block: SealedBlock) => void): () => void {
    this.#removalListeners.add(listener);
    return () => this.#removalListeners.delete(listener);
  }

  /** Runs an unsigned call on the state after a block. What it changes is forgotten. */
  async call(
    call: Call,
    block: SealedBlock,
    state: StateReader,
    { environment = {}, tracer }: CallChanges = {},
  ): Promise<CallOutcome> {
    const changed = { ...environmentOf(block, this.ledger), ...environment };
    const execution = await this.#executor.open(new Overlay(state), changed, tracer);
    return execution.call(call);
  }

  /** An EVM as a block's transactions had it, over a state of the caller's. */
  openIn(block: SealedBlock, state: Overlay, tracer?: CallTracer): Promise<Execution> {
    return this.#executor.open(state, environmentOf(block, this.ledger), tracer);
  }

  /** Proves an account of the latest block's state; undefined while changes since then are in no root. */
  prove(address: Hex, slots: readonly Hex[]): StateProof | undefined {
    return this.#world.isSealed ? this.#world.prove(address, slots) : undefined;
  }

  /** The state on which a block was built; undefined when it is not kept. */
  stateBefore(number: number): StateReader | undefined {
    return this.#world.before(number);
  }

  /** Tells of each new block, right after it is readable. @returns how to stop. */
  onBlock(listener: (block: SealedBlock) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks before each block, which may still put something into the pool. @returns how to stop. */
  beforeBlock(prepare: (number: number) => Promise<void>): () => void {
    this.#preparations.add(prepare);
    return () => this.#preparations.delete(prepare);
  }

  /** Waits for a block that is being built. */
  async settled(): Promise<void> {
    await this.#building;
  }

  /** What changes the chain happens one after the other. */
  #inTurn<T>(run: () => T | Promise<T>): Promise<T> {
    const next = this.#building.then(run);
    this.#building = next.catch(() => undefined);
    return next;
  }

  async #build(): Promise<SealedBlock> {
    const parent = this.head;
    for (const prepare of this.#preparations) await prepare(parent.number + 1);
    const { pool, options: rules } = this;
    const environment = environmentAfter(parent, this.ledger, this.clock, rules.blockGasLimit);
    const { draft, state } = await buildBlock(this.#world, environment, {
      pool,
      rules,
      executor: this.#executor,
    });
    // From here to the end nothing waits, so nobody sees a state without its block.
    const mark = this.#world.pin();
    const block = draft.seal(environment, parent.hash, this.#world.apply(state.changes));
    try {
      this.#journal?.block(block, state.changes);
    } catch (error) {
      this.#world.rollBack(mark);
      await this.#sendAgain(draft);
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

  /** Drops what the nonces that changed have passed. */
  #prunePool({ accounts }: StateChanges): void {
    for (const [account, record] of accounts) this.pool.prune(account, record?.nonce ?? 0n);
  }

  /** After a block that could not be kept: its transactions wait for the next one. */
  async #sendAgain(draft: BlockDraft): Promise<void> {
    for (const { tx, role } of draft.included) {
      // Its sender is known already, and no bytes tell it where it was impersonated.
      if (role === "ordinary") await this.sendImpersonated(tx).catch(() => undefined);
      if (role === "wrapper") await this.send(tx.raw).catch(() => undefined);
    }
  }
}
