import type { Hex } from "@gas-waiver/protocol";
import type { Personality } from "../../nodeZoo/personality.js";
import { ancestorAt, type Block } from "../chain/block.js";
import { CallFailure, type NodeView, readChain } from "../chain/reads.js";
import { readWrapper, type Wrapper } from "../chain/wrapper.js";
import { Pool, type PoolKind } from "./pool.js";

export interface NodeOptions {
  readonly name: string;
  readonly pool: PoolKind;
  readonly personality: Personality;
  readonly chainId: number;
  readonly genesis: Block;
  /** Called for each wrapper that the pool takes. */
  readonly onTaken: (wrapper: Wrapper) => void;
}

/** One honest node: a view of the chain, and a pool. Its pool talks to others' through `onTaken` alone. */
export class SimulatedNode {
  readonly name: string;
  readonly personality: Personality;
  readonly pool: Pool;
  readonly #chainId: number;
  readonly #onTaken: NodeOptions["onTaken"];
  #head: Block;

  constructor({ name, pool, personality, chainId, genesis, onTaken }: NodeOptions) {
    this.name = name;
    this.personality = personality;
    this.pool = new Pool(pool, personality);
    this.#chainId = chainId;
    this.#head = genesis;
    this.#onTaken = onTaken;
  }

  get head(): Block {
    return this.#head;
  }

  /** Takes over a head. After a reorg, the pool gets back the wrappers of the blocks that are gone. */
  follow(head: Block): void {
    for (let old: Block | undefined = this.#head; old !== undefined; old = old.parent) {
      if (ancestorAt(head, old.number) === old) break;
      for (const wrapper of old.wrappers) this.pool.restore(wrapper);
    }
    this.#head = head;
    this.pool.onBlock(head);
  }

  view(
    head: Block = this.#head,
    pruned: { readonly statesFrom?: number; readonly blocksFrom?: number } = {},
  ): NodeView {
    return {
      head,
      statesFrom: 0,
      blocksFrom: 0,
      ...pruned,
      chainId: this.#chainId,
      hasInPool: (hash) => this.pool.has(hash),
    };
  }

  /** Adds a wrapper from a client or from another node, and tells the others. @throws {@link CallFailure} */
  take(wrapper: Wrapper): Hex {
    this.pool.add(wrapper, this.#head);
    this.#onTaken(wrapper);
    return wrapper.hash;
  }

  /** Answers one call. @throws {@link CallFailure} */
  call(method: string, params: readonly unknown[], view: NodeView = this.view()): unknown {
    if (method !== "eth_sendRawTransaction") return readChain(view, method, params);
    return this.take(decode(params[0]));
  }
}

/** @throws {@link CallFailure} on bytes that are no wrapper. */
export function decode(raw: unknown): Wrapper {
  try {
    return readWrapper(raw as Hex);
  } catch (error) {
    throw new CallFailure(-32_602, `invalid argument 0: ${(error as Error).message}`);
  }
}
