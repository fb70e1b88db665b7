import {
  type AllowedTarget,
  bytesToHex,
  crypto,
  decodeInnerTx,
  decodeTransaction,
  type Hex,
  hashTransaction,
  REGISTRY_ADDRESS,
  recoverSender,
} from "@gas-waiver/protocol";
import type { ModelRegistry } from "./modelRegistry.js";

/** `strict`: a nonce must be the next. `queued`: one further ahead waits in the pool. */
export type PoolKind = "strict" | "queued";

/** The node refuses a transaction. `data.reason` is there if the node is one that names its rules. */
export class RefusedByNode extends Error {
  readonly data: { readonly reason: string } | undefined;

  constructor(message: string, reason?: string) {
    super(message);
    this.data = reason === undefined ? undefined : { reason };
  }
}

interface Wrapper {
  readonly hash: Hex;
  readonly waiver: Hex;
  readonly nonce: bigint;
  readonly innerHash: Hex;
  readonly sender: Hex;
  readonly senderNonce: bigint;
}

interface Receipt {
  readonly blockNumber: Hex;
  readonly blockHash: Hex;
  readonly gasUsed: Hex;
  readonly status: Hex;
}

export const CHAIN_ID = 2201;
/** How many more blocks pass a wrapper over before it is dropped. */
const HELD_BLOCKS = 2;

/** What a chain of the waiver rules does, as far as a submission service can see it: nonces, blocks, receipts. */
export class ModelChain {
  readonly pool: PoolKind;
  /** Waivers that were revoked, by address. */
  readonly revoked = new Set<Hex>();
  /** InnerTxs that the node refuses, by hash, and for what reason; and those that revert. */
  readonly refused = new Map<Hex, string>();
  readonly reverting = new Set<Hex>();
  /** The InnerTxs that ran, in order: each hash should be here at most once. */
  readonly executed: Hex[] = [];
  genesisHash: Hex = fakeHash("genesis");
  /** In wei, of those that have any. */
  readonly balances = new Map<Hex, bigint>();
  /** Unless it is there, nothing on this chain can be called. */
  registry: ModelRegistry | undefined;
  /** The blocks above the genesis, and what ran in each. */
  #blocks: { readonly hash: Hex; readonly ran: Wrapper[] }[] = [];
  #forks = 0;
  readonly #nonces = new Map<Hex, bigint>();
  readonly #receipts = new Map<Hex, Receipt>();
  /** The block that first passed a wrapper over because its sender's nonce was missing. */
  readonly #heldSince = new Map<Hex, number>();
  readonly #waiting = new Map<Hex, Wrapper>();

  constructor(pool: PoolKind) {
    this.pool = pool;
  }

  get height(): number {
    return this.#blocks.length;
  }

  nonceOf(address: Hex): bigint {
    return this.#nonces.get(address) ?? 0n;
  }

  /** As if the account had sent something else. */
  setNonce(address: Hex, nonce: bigint): void {
    this.#nonces.set(address, nonce);
  }

  /** The wrappers that wait for a block. */
  get waiting(): readonly Wrapper[] {
    return [...this.#waiting.values()];
  }

  /** The pool is empty, as after a node's restart. */
  forgetAll(): void {
    this.#waiting.clear();
  }

  /** The pool loses one of the waiting wrappers, if it has that many. */
  forget(place: number): void {
    const lost = this.waiting[place];
    if (lost) this.#waiting.delete(lost.hash);
  }

  /** Takes a signed wrapper into the pool, or says why not. Its checks are those of D7 that need the chain. */
  take(raw: Uint8Array, forgetAtOnce = false): Uint8Array {
    const wrapper = decodeTransaction(raw);
    const inner = decodeInnerTx(wrapper.data);
    const known: Wrapper = {
      hash: bytesToHex(hashTransaction(wrapper)),
      waiver: bytesToHex(recoverSender(wrapper)),
      nonce: wrapper.nonce,
      innerHash: bytesToHex(hashTransaction(inner)),
      sender: bytesToHex(recoverSender(inner)),
      senderNonce: inner.nonce,
    };
    if (this.#waiting.has(known.hash)) throw new RefusedByNode("already known");
    this.#assertWelcome(known);
    if (!forgetAtOnce) this.#waiting.set(known.hash, known);
    return hashTransaction(wrapper);
  }

  /** Makes a block; a wrapper that cannot run any more is dropped, one that cannot run yet waits a while (D8). */
  mine(): void {
    this.#blocks.push({ hash: fakeHash(`block ${this.height + 1} of fork ${this.#forks}`), ran: [] });
    this.#runAll();
    for (const wrapper of this.#waiting.values()) {
      if (wrapper.nonce !== this.nonceOf(wrapper.waiver)) continue;
      const since = this.#heldSince.get(wrapper.hash) ?? this.height;
      this.#heldSince.set(wrapper.hash, since);
      if (this.height - since < HELD_BLOCKS) continue;
      this.#waiting.delete(wrapper.hash);
      this.#heldSince.delete(wrapper.hash);
    }
  }

  /** Another policy for a waiver, or none, by a block of its own. */
  decide(waiver: Hex, targets: readonly AllowedTarget[] | undefined): void {
    this.mine();
    this.registry?.change(this.height, waiver, targets);
  }

  /** Takes the newest blocks away and forgets what was in them; the next ones are others. */
  reorg(depth: number): void {
    this.#forks++;
    for (const { ran } of this.#blocks.splice(-depth).reverse()) {
      for (const { waiver, nonce, sender, senderNonce, hash, innerHash } of ran.reverse()) {
        this.setNonce(waiver, nonce);
        this.setNonce(sender, senderNonce);
        this.#receipts.delete(hash);
        this.#receipts.delete(innerHash);
        this.executed.splice(this.executed.lastIndexOf(innerHash), 1);
      }
    }
    this.registry?.forget(this.height);
  }

  #runAll(): void {
    for (let ran = true; ran; ) {
      ran = false;
      for (const wrapper of this.#waiting.values()) {
        if (wrapper.nonce > this.nonceOf(wrapper.waiver)) continue;
        if (
          wrapper.nonce === this.nonceOf(wrapper.waiver) &&
          wrapper.senderNonce > this.nonceOf(wrapper.sender)
        )
          continue;
        this.#waiting.delete(wrapper.hash);
        ran = this.#execute(wrapper) || ran;
      }
    }
  }

  read(method: string, params: readonly unknown[]): unknown {
    const [first] = params as [Hex];
    switch (method) {
      case "eth_chainId":
        return quantity(CHAIN_ID);
      case "eth_blockNumber":
        return quantity(this.height);
      case "eth_getBlockByNumber":
        return this.#block((first as string) === "latest" ? this.height : Number(first));
      case "eth_getTransactionCount":
        return quantity(this.nonceOf(first));
      case "eth_getBalance":
        return quantity(this.balances.get(first) ?? 0n);
      case "eth_getTransactionReceipt":
        return this.#receipts.get(first) ?? null;
      case "eth_getTransactionByHash":
        return this.#waiting.has(first) || this.#receipts.has(first) ? { hash: first } : null;
      default:
        return this.#readRegistry(method, params);
    }
  }

  #readRegistry(method: string, [first]: readonly unknown[]): unknown {
    const { registry } = this;
    if (registry !== undefined && method === "eth_call") {
      const { to, data } = first as { readonly to: Hex; readonly data: Hex };
      return to === bytesToHex(REGISTRY_ADDRESS) ? registry.call(data) : "0x";
    }
    if (registry !== undefined && method === "eth_getLogs" && !registry.withoutLogs) {
      return registry.logs(first as Parameters<ModelRegistry["logs"]>[0]);
    }
    throw new RefusedByNode(`the method ${method} does not exist`);
  }

  #block(number: number): { number: Hex; hash: Hex } | null {
    const hash = number === 0 ? this.genesisHash : this.#blocks[number - 1]?.hash;
    return hash === undefined ? null : { number: quantity(number), hash };
  }

  #assertWelcome({ waiver, nonce, innerHash, sender, senderNonce, hash }: Wrapper): void {
    if (this.revoked.has(waiver))
      throw new RefusedByNode(`${waiver} is not a registered waiver`, "WAIVER_NOT_REGISTERED");
    const refusal = this.refused.get(innerHash);
    if (refusal) throw new RefusedByNode(`refused: ${refusal}`, refusal);
    const next = this.#pending(waiver, ({ waiver: from }) => from === waiver);
    if (nonce < this.nonceOf(waiver)) throw new RefusedByNode("nonce too low", "WRAPPER_NONCE_TOO_LOW");
    if (this.pool === "strict" && nonce > next)
      throw new RefusedByNode(`invalid nonce; got ${nonce}, expected ${next}: invalid sequence`);
    if ([...this.#waiting.values()].some((w) => w.waiver === waiver && w.nonce === nonce && w.hash !== hash))
      throw new RefusedByNode("replacement transaction underpriced");
    if (senderNonce < this.nonceOf(sender)) throw new RefusedByNode("inner nonce too low", "NONCE_TOO_LOW");
    const turn = this.#pending(sender, (w) => w.sender === sender);
    if (this.pool === "strict" && senderNonce > turn)
      throw new RefusedByNode("inner nonce too high", "NONCE_GAP");
  }

  /** An account's next nonce if everything in the pool had run: a strict pool holds no gaps. */
  #pending(address: Hex, isOurs: (wrapper: Wrapper) => boolean): bigint {
    return this.nonceOf(address) + BigInt([...this.#waiting.values()].filter(isOurs).length);
  }

  #execute(wrapper: Wrapper): boolean {
    const { waiver, nonce, sender, senderNonce, hash, innerHash } = wrapper;
    if (nonce !== this.nonceOf(waiver) || senderNonce !== this.nonceOf(sender)) return false;
    this.setNonce(waiver, nonce + 1n);
    this.setNonce(sender, senderNonce + 1n);
    this.executed.push(innerHash);
    const block = this.#blocks.at(-1);
    block?.ran.push(wrapper);
    const receipt = {
      blockNumber: quantity(this.height),
      blockHash: block?.hash ?? this.genesisHash,
      gasUsed: quantity(50_000),
      status: quantity(this.reverting.has(innerHash) ? 0 : 1),
    };
    this.#receipts.set(hash, receipt);
    this.#receipts.set(innerHash, receipt);
    return true;
  }
}

function quantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`;
}

function fakeHash(text: string): Hex {
  return bytesToHex(crypto.keccak256(new TextEncoder().encode(text)));
}
