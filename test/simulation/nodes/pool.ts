import type { Hex } from "@gas-waiver/protocol";
import type { Personality, Refusal, RefusalValues } from "../../nodeZoo/personality.js";
import { type Block, nonceIn } from "../chain/block.js";
import { CallFailure } from "../chain/reads.js";
import type { Wrapper } from "../chain/wrapper.js";

/**
 * - `strict`: takes an account's next nonce only, checks everything again after each block, and drops what has become invalid
 *   (CometBFT, mempool/clist_mempool.go of cometbft/cometbft).
 * - `keeps`: later nonces wait; at a price of 0, the first of two transactions under a nonce stays (geth,
 *   core/txpool/legacypool/list.go of ethereum/go-ethereum; reth, crates/transaction-pool of paradigmxyz/reth).
 * - `replaces`: the same, and the second one takes the place of the first (Erigon, Nethermind, Besu).
 */
export const POOL_KINDS = ["strict", "keeps", "replaces"] as const;
export type PoolKind = (typeof POOL_KINDS)[number];

/** A wrapper whose sender's nonce is missing is left out of this many blocks, and then dropped (D8). */
const MAX_SKIPPED_BLOCKS = 2;
const SERVER_ERROR = -32_000;

/** The transactions that one node holds for blocks to come. */
export class Pool {
  readonly kind: PoolKind;
  readonly #words: Personality["words"];
  readonly #held = new Map<Hex, { readonly wrapper: Wrapper; skipped: number }>();
  /** CometBFT remembers what was committed, and calls it known. */
  readonly #seen = new Set<Hex>();

  constructor(kind: PoolKind, { words }: Personality) {
    this.kind = kind;
    this.#words = words;
  }

  get wrappers(): Wrapper[] {
    return [...this.#held.values()].map(({ wrapper }) => wrapper);
  }

  has(hash: Hex): boolean {
    return this.#held.has(hash);
  }

  /** Makes the checks of D7 that need the state. @throws {@link CallFailure} with the node's words. */
  add(wrapper: Wrapper, state: Block): void {
    const { hash, waiver, nonce, sender, senderNonce } = wrapper;
    if (this.#held.has(hash) || this.#seen.has(hash)) this.#refuse("ALREADY_KNOWN", wrapper, "");
    if (!state.policies.has(waiver))
      refuseByRule("WAIVER_NOT_REGISTERED", `waiver ${waiver} is not registered`);
    const next = nonceIn(state, waiver);
    if (nonce < next) this.#refuse("WRAPPER_NONCE_TOO_LOW", wrapper, String(next));
    const isFree = this.#clear(wrapper);
    if (!isFree) this.#refuse("REPLACEMENT_UNDERPRICED", wrapper, "");
    const pending = next + this.#count((one) => one.waiver === waiver);
    if (this.kind === "strict" && nonce !== pending)
      this.#refuse(nonce > pending ? "WRAPPER_NONCE_GAP" : "WRAPPER_NONCE_TOO_LOW", wrapper, String(pending));
    const nextOfSender = nonceIn(state, sender);
    if (senderNonce < nextOfSender) refuseInner("NONCE_TOO_LOW", senderNonce, nextOfSender);
    const pendingOfSender = nextOfSender + this.#count((one) => one.sender === sender);
    if (this.kind === "strict" && senderNonce > pendingOfSender)
      refuseInner("NONCE_GAP", senderNonce, pendingOfSender);
    this.#held.set(hash, { wrapper, skipped: 0 });
  }

  /** Makes room under the wrapper's nonce. @returns false where another one keeps the nonce. */
  #clear({ waiver, nonce }: Wrapper): boolean {
    const other = this.wrappers.find((one) => one.waiver === waiver && one.nonce === nonce);
    if (other === undefined || this.kind === "strict") return true;
    if (this.kind === "keeps") return false;
    this.#held.delete(other.hash);
    return true;
  }

  /** Holds the wrapper again without any check, as a node does with the transactions of a block that a reorg took away. */
  restore(wrapper: Wrapper): void {
    this.#seen.delete(wrapper.hash);
    this.#held.set(wrapper.hash, { wrapper, skipped: 0 });
  }

  remove(hash: Hex): void {
    this.#held.delete(hash);
  }

  /** Forgets everything, as a node without a journal does when it restarts. */
  forget(): void {
    this.#held.clear();
    this.#seen.clear();
  }

  /** Follows a new block: drops its wrappers, and all that can never run any more. */
  onBlock(block: Block): void {
    if (this.kind === "strict") for (const { hash } of block.wrappers) this.#seen.add(hash);
    const checked = new Map<Hex, bigint>();
    for (const { hash } of runnable(this.wrappers)) {
      const entry = this.#held.get(hash);
      if (entry === undefined) continue;
      const { waiver, nonce, sender, senderNonce } = entry.wrapper;
      const next = nonceIn(block, waiver);
      if (nonce < next || senderNonce < nonceIn(block, sender)) this.#held.delete(hash);
      else if (this.kind === "strict" && !block.policies.has(waiver)) this.#held.delete(hash);
      else if (nonce === next && senderNonce > nonceIn(block, sender) && ++entry.skipped > MAX_SKIPPED_BLOCKS)
        this.#held.delete(hash);
      // A strict pool checks the rest in order: behind a nonce that has gone, all are invalid.
      else if (this.kind === "strict" && nonce !== (checked.get(waiver) ?? next)) this.#held.delete(hash);
      else checked.set(waiver, nonce + 1n);
    }
  }

  #count(isCounted: (wrapper: Wrapper) => boolean): bigint {
    return BigInt(this.wrappers.filter(isCounted).length);
  }

  #refuse(refusal: Refusal, { nonce, hash }: Wrapper, expected: string): never {
    const values: RefusalValues = { nonce: String(nonce), expected, hash };
    const { code, message, data } = this.#words[refusal](values);
    throw new CallFailure(code, message, data);
  }
}

function refuseInner(reason: "NONCE_TOO_LOW" | "NONCE_GAP", nonce: bigint, expected: bigint): never {
  const values = { check: "inner nonce", nonce: String(nonce), expected: String(expected) };
  refuseByRule(reason, `inner nonce ${nonce}, expected ${expected}`, values);
}

/** The validators name their rules in `data` (D13). */
function refuseByRule(reason: string, message: string, values: Readonly<Record<string, string>> = {}): never {
  throw new CallFailure(SERVER_ERROR, message, { reason, ...values });
}

/** The wrappers of a pool in an order in which they can run: by nonce for each waiver. */
export function runnable(wrappers: readonly Wrapper[]): Wrapper[] {
  return [...wrappers].sort((a, b) => (a.nonce < b.nonce ? -1 : a.nonce > b.nonce ? 1 : 0));
}
