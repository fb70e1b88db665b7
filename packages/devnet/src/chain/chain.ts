import { bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { accountsOf } from "../accounts.js";
import type { BlockEnvironment, Call, CallOutcome, Executor } from "../evm/executor.js";
import { Overlay } from "../state/overlay.js";
import type { StateReader } from "../state/reader.js";
import { WorldState } from "../state/world.js";
import { type AdmissionRules, admit } from "./admission.js";
import { type SealedBlock, sealedBlock } from "./block.js";
import { buildBlock, isAhead } from "./builder.js";
import { genesisState } from "./genesis.js";
import { Ledger } from "./ledger.js";
import { Pool } from "./pool.js";
import { RefusedError } from "./refusal.js";

export interface ChainOptions extends AdmissionRules {
  /** How many states before the latest one stay readable. */
  readonly historyBlocks: number;
  /** Transactions that the pool holds at most. */
  readonly poolLimit: number;
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number;
}

const ZERO_HASH: Hex = `0x${"00".repeat(32)}`;

/** The chain: its blocks, its state, and the pool of what comes next. */
export class Chain {
  readonly options: ChainOptions;
  readonly pool: Pool;
  readonly ledger: Ledger;
  readonly #world: WorldState;
  readonly #executor: Executor;
  readonly #listeners = new Set<(block: SealedBlock) => void>();
  #building: Promise<unknown> = Promise.resolve();

  constructor(options: ChainOptions, executor: Executor) {
    this.options = options;
    this.#executor = executor;
    this.pool = new Pool(options.poolLimit);
    this.#world = new WorldState(options.historyBlocks);
    const stateRoot = this.#world.applyGenesis(genesisState().changes);
    this.ledger = new Ledger(
      sealedBlock([], {
        number: 0n,
        timestamp: this.#seconds(),
        gasLimit: options.blockGasLimit,
        stateRoot: hexToBytes(stateRoot),
      }),
    );
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
  async send(raw: Uint8Array): Promise<Hex> {
    const hash = bytesToHex(crypto.keccak256(raw));
    this.pool.assertUnknown(hash);
    if (this.ledger.transaction(hash) !== undefined) {
      throw new RefusedError("ALREADY_KNOWN", `already known: ${hash} is in a block`, { hash });
    }
    const entry = await admit(raw, this.state, "gaps", this.options);
    this.pool.add(entry, this.state.account(entry.signer)?.nonce ?? 0n);
    return hash;
  }

  /** Builds the next block of what is ready, also when that is nothing. Calls wait for each other. */
  mine(): Promise<SealedBlock> {
    const next = this.#building.then(() => this.#build());
    this.#building = next.catch(() => undefined);
    return next;
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

  /** Runs an unsigned call on the state after a block. What it changes is forgotten. */
  async call(call: Call, block: SealedBlock, state: StateReader): Promise<CallOutcome> {
    const execution = await this.#executor.open(new Overlay(state), this.#environmentOf(block));
    return execution.call(call);
  }

  /** Tells of each new block, right after it is readable. @returns how to stop. */
  onBlock(listener: (block: SealedBlock) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits for a block that is being built. */
  async settled(): Promise<void> {
    await this.#building;
  }

  async #build(): Promise<SealedBlock> {
    const parent = this.head;
    const environment = this.#environmentAfter(parent);
    const { pool, options: rules } = this;
    const { draft, state } = await buildBlock(this.#world, environment, {
      pool,
      rules,
      executor: this.#executor,
    });
    // From here to the end nothing waits, so nobody sees a state without its block.
    const block = draft.seal(environment, parent.hash, this.#world.apply(state.changes));
    this.ledger.append(block);
    for (const [account, record] of state.changes.accounts) pool.prune(account, record?.nonce ?? 0n);
    for (const listener of this.#listeners) listener(block);
    return block;
  }

  #environmentAfter(parent: SealedBlock): BlockEnvironment {
    const number = parent.number + 1;
    const now = this.#seconds();
    const parentTime = parent.header.timestamp;
    const validators = accountsOf("validator");
    const proposer = validators[number % validators.length]?.address ?? "0x";
    return {
      number: BigInt(number),
      // Blocks may come faster than seconds pass: a timestamp repeats then, and never goes back.
      timestamp: now > parentTime ? now : parentTime,
      coinbase: hexToBytes(proposer),
      gasLimit: this.options.blockGasLimit,
      prevRandao: crypto.keccak256(hexToBytes(parent.hash)),
      hashOf: (wanted) => hexToBytes(this.ledger.byNumber(wanted)?.hash ?? ZERO_HASH),
    };
  }

  #environmentOf({ header }: SealedBlock): BlockEnvironment {
    return {
      number: header.number,
      timestamp: header.timestamp,
      coinbase: header.coinbase.bytes,
      gasLimit: header.gasLimit,
      prevRandao: header.mixHash,
      hashOf: (wanted) => hexToBytes(this.ledger.byNumber(wanted)?.hash ?? ZERO_HASH),
    };
  }

  #seconds(): bigint {
    return BigInt(Math.floor(this.options.now() / 1000));
  }
}
