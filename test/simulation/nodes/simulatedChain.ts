import type { Hex } from "@gas-waiver/protocol";
import type { Personality } from "../../nodeZoo/personality.js";
import { SeededRandom } from "../../support/seededRandom.js";
import {
  ancestorAt,
  type Block,
  blockOf,
  extend,
  genesisBlock,
  nonceIn,
  type Other,
} from "../chain/block.js";
import { hashOfText, type Wrapper } from "../chain/wrapper.js";
import type { WorldClock } from "../worldClock.js";
import { SimulatedNode } from "./node.js";
import type { PoolKind } from "./pool.js";
import { runnable } from "./pool.js";

export interface ChainOptions {
  readonly seed: number;
  readonly clock: WorldClock;
  readonly chainId: number;
  readonly blockMs: number;
  readonly waivers: readonly Hex[];
  readonly nodes: readonly { readonly pool: PoolKind; readonly personality: Personality }[];
}

/** A transaction that pays for itself. Without a nonce it takes the account's next one. */
interface PaidTransaction extends Other {
  readonly nonce?: bigint | undefined;
}

/** A node hears of a block or a transaction of another one within this time, in ms. */
const MOST_GOSSIP_MS = 120;
const PREMINED_BLOCKS = 100;

/**
 * The chain of a world with its nodes, which take turns in making blocks. Changes that come from outside (reorgs, halts, foreign
 * transactions) are methods here; behaviours call them.
 */
export class SimulatedChain {
  readonly nodes: readonly SimulatedNode[];
  readonly #options: ChainOptions;
  readonly #random: SeededRandom;
  #paid: PaidTransaction[] = [];
  readonly #excluded: ((wrapper: Wrapper) => boolean)[] = [];
  readonly #known = new Map<Hex, Wrapper>();
  readonly #onBlock: ((block: Block) => void)[] = [];
  readonly #onTaken: ((wrapper: Wrapper) => void)[] = [];
  readonly #onRemoved: ((removed: readonly Block[]) => void)[] = [];
  #head: Block;
  #forks = 0;
  #haltedUntil = 0;
  #timeShiftMs = 0;
  #foreign = 0;
  #lastWithoutWaiver = Number.NEGATIVE_INFINITY;
  /** Those that governance has registered. What a reorg takes away comes again with the next block. */
  readonly #waivers: Set<Hex>;

  constructor(options: ChainOptions) {
    const { seed, chainId, nodes } = options;
    this.#options = options;
    this.#waivers = new Set(options.waivers);
    this.#random = new SeededRandom(seed, "chain");
    this.#head = premined(options);
    const genesis = this.#head;
    this.nodes = nodes.map(
      ({ pool, personality }, i) =>
        new SimulatedNode({
          ...{ name: `node${i + 1}`, pool, personality, chainId, genesis },
          onTaken: (wrapper) => this.#gossip(i, wrapper),
        }),
    );
    this.#scheduleBlock();
  }

  get head(): Block {
    return this.#head;
  }

  /** Every wrapper that a node ever took, by its hash. */
  get known(): ReadonlyMap<Hex, Wrapper> {
    return this.#known;
  }

  /** The time of the last block in which no waiver was registered, also one that a reorg has taken away, in seconds. */
  get lastWithoutWaiver(): number {
    return this.#lastWithoutWaiver;
  }

  nonceOf(account: Hex): bigint {
    return nonceIn(this.#head, account);
  }

  /** The block that executed an InnerTx, or has any other transaction. */
  blockOf(hash: Hex): Block | undefined {
    return blockOf(this.#head, hash);
  }

  onBlock(listener: (block: Block) => void): void {
    this.#onBlock.push(listener);
  }

  /** Calls the listener for each wrapper that a client brought and a node took. */
  onTaken(listener: (wrapper: Wrapper) => void): void {
    this.#onTaken.push(listener);
  }

  /** Calls the listener with the blocks that a reorg takes away, the newest first. */
  onRemoved(listener: (removed: readonly Block[]) => void): void {
    this.#onRemoved.push(listener);
  }

  /** No block ever includes these wrappers, although pools take them: a rule that only the making of a block knows. */
  exclude(isExcluded: (wrapper: Wrapper) => boolean): void {
    this.#excluded.push(isExcluded);
  }

  /**
   * Sends a transaction of other software, which pays for itself and so goes before all wrappers: under this nonce, for which it
   * waits, or under the account's next one.
   */
  sendPaid(from: Hex, about: Pick<PaidTransaction, "nonce" | "authorization"> = {}): void {
    this.#paid.push({ from, ...about, hash: hashOfText(`paid ${++this.#foreign} of ${from}`) });
  }

  /** Governance revokes a waiver with the next block. */
  revoke(waiver: Hex): void {
    this.#waivers.delete(waiver);
  }

  /** Governance registers a waiver with the next block. */
  register(waiver: Hex): void {
    this.#waivers.add(waiver);
  }

  /** No blocks come for this time. */
  halt(ms: number): void {
    this.#haltedUntil = Math.max(this.#haltedUntil, this.#options.clock.now() + ms);
  }

  /** The times of new blocks are moved by this much. */
  shiftTimes(ms: number): void {
    this.#timeShiftMs = ms;
  }

  /** Takes the newest blocks away. @param keepsPools whether the nodes' pools get back what was in them. */
  reorg(depth: number, keepsPools: boolean): void {
    const target = ancestorAt(this.#head, Math.max(0, this.#head.number - depth));
    if (target === undefined || target === this.#head) return;
    const removed: Block[] = [];
    for (let gone: Block | undefined = this.#head; gone && gone !== target; gone = gone.parent)
      removed.push(gone);
    for (const listener of this.#onRemoved) listener(removed);
    this.#forks++;
    this.#head = target;
    for (const node of this.nodes) {
      node.follow(target);
      if (!keepsPools) node.pool.forget();
    }
  }

  #scheduleBlock(): void {
    this.#options.clock.after(this.#options.blockMs, () => {
      this.#scheduleBlock();
      if (this.#options.clock.now() >= this.#haltedUntil) this.#makeBlock();
    });
  }

  #makeBlock(): void {
    const { clock } = this.#options;
    const proposer = this.#random.pick(this.nodes);
    const wrappers = proposer.pool.wrappers.filter((one) => !this.#excluded.some((isOut) => isOut(one)));
    const time = Math.floor((clock.wallMs() + this.#timeShiftMs) / 1_000);
    const block = extend(this.#head, {
      others: this.#takePaid(),
      wrappers: runnable(wrappers),
      timestamp: Math.max(this.#head.timestamp, time),
      waivers: this.#waivers,
      salt: `fork ${this.#forks}`,
    });
    this.#head = block;
    if (block.policies.size === 0) this.#lastWithoutWaiver = block.timestamp;
    for (const listener of this.#onBlock) listener(block);
    proposer.follow(block);
    for (const node of this.nodes) if (node !== proposer) this.#later(() => node.follow(this.#head));
  }

  /** The paid transactions that can be in the next block. Those whose nonce is past are dropped. */
  #takePaid(): PaidTransaction[] {
    const ready = this.#paid.filter(({ from, nonce }) => nonce === undefined || nonce === this.nonceOf(from));
    this.#paid = this.#paid.filter(({ from, nonce }) => nonce !== undefined && nonce > this.nonceOf(from));
    return ready;
  }

  #gossip(from: number, wrapper: Wrapper): void {
    this.#known.set(wrapper.hash, wrapper);
    for (const listener of this.#onTaken) listener(wrapper);
    this.nodes.forEach((node, i) => {
      if (i !== from) this.#later(() => takeQuietly(node, wrapper));
    });
  }

  #later(run: () => void): void {
    this.#options.clock.after(this.#random.between(1, MOST_GOSSIP_MS), run);
  }
}

/** The blocks before the world began, without transactions: nodes that lag by many blocks have some to show. */
function premined({ clock, blockMs, waivers }: ChainOptions): Block {
  const at = (height: number) => Math.floor((clock.wallMs() - (PREMINED_BLOCKS - height) * blockMs) / 1_000);
  let block = genesisBlock(at(0), waivers);
  while (block.number < PREMINED_BLOCKS)
    block = extend(block, { others: [], wrappers: [], timestamp: at(block.number + 1), salt: "before" });
  return block;
}

/** A node that hears of a transaction from another one does not say what is wrong with it. */
function takeQuietly(node: SimulatedNode, wrapper: Wrapper): void {
  if (node.pool.has(wrapper.hash)) return;
  try {
    node.pool.add(wrapper, node.head);
  } catch {
    // Refused, as any other.
  }
}
