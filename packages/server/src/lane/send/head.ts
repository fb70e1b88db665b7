import { bytesEqual } from "@gas-waiver/protocol";
import type { LaneWait } from "../../model/submission/waitCauses.js";

/** One poll's view of the lane's next nonce. */
export interface HeadMoment {
  /** The height of the chain, read before the nonce. */
  readonly block: bigint;
  /** The waiver's next nonce. */
  readonly waiverNonce: bigint;
  /** The hash of the lane's wrapper with this nonce, if a node has taken it. */
  readonly wrapperHash: Uint8Array | undefined;
}

/** Blocks beyond the usual ones that pass the head over before nothing new goes out behind it. */
const BRAKE_BLOCKS = 2n;
/** Blocks beyond the usual ones that pass the head over before its nonce goes to another wrapper. */
const WITHDRAW_BLOCKS = 4n;
/** A chain that makes many blocks a second passes nobody over for good within this time, in ms. */
const MIN_WITHDRAW_MS = 1_000;
/** A nonce that stands still for this long beyond the usual time holds back what is new, whatever the blocks do, in ms. */
const STILL_MS = 10_000;
const MAX_INTERVAL_MS = 30_000;
/** The heads from whose waits the usual one is taken, and the most blocks that can be usual. */
const SAMPLES = 20;
const MAX_USUAL = 6n;

/** The time and the height since when something is the case. */
interface Since {
  readonly block: bigint;
  readonly at: number;
}

/**
 * The head of a lane's line: the wrapper with the waiver's next nonce. The chain takes nonces in order, so the head decides
 * for all wrappers behind it. A block *passes over* the head if a poll shows the nonce unused at a later block with room.
 *
 * Two blocks beyond the usual ones put on the brake: nothing new goes out behind, so no line says `success` for it. After
 * four, the head is withdrawn, and a filler gets its nonce. A node may refuse a second wrapper under a nonce, or take it; where
 * all refuse, the lane is jammed until the nonce is used. A miscount costs a wrapper, never safety: the user's own nonce
 * lets an InnerTx run once, whoever carries it.
 */
export class HeadOfLine {
  readonly #now: () => number;
  /** The nonce that stands still, since a node has had a wrapper under it. */
  #nonce: (Since & { readonly nonce: bigint; readonly firstBlock: bigint }) | undefined;
  #wrapper: (Since & { readonly hash: Uint8Array }) | undefined;
  #block: Since = { block: 0n, at: 0 };
  #intervalMs = 0;
  #waits: bigint[] = [];
  #resentAfter = 0n;
  #isJammed = false;

  /** @param now a monotonic clock in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  observe({ block, waiverNonce, wrapperHash }: HeadMoment): void {
    const since = { block, at: this.#now() };
    if (this.#nonce?.nonce !== waiverNonce) this.#noteMove(waiverNonce);
    // A free nonce stands still until another wrapper under it is in a block.
    if (wrapperHash === undefined && !this.isFree) this.forget();
    if (wrapperHash !== undefined) {
      this.#nonce ??= { nonce: waiverNonce, firstBlock: block, ...since };
      if (this.#wrapper === undefined || !bytesEqual(this.#wrapper.hash, wrapperHash))
        this.#follow(wrapperHash, since);
    }
    this.#noteBlock(since);
  }

  /** Nothing of the lane waits, or another process has sent for it meanwhile. */
  forget(): void {
    this.#nonce = undefined;
    this.#wrapper = undefined;
    this.#isJammed = false;
  }

  /** The newest block could not have taken the wrapper: it has passed nobody over. */
  pardon(): void {
    const { block } = this.#block;
    if (this.#nonce) this.#nonce = { ...this.#nonce, block };
    if (this.#wrapper) this.#wrapper = { ...this.#wrapper, block };
    this.#resentAfter = 0n;
  }

  /** The blocks that have left out the present wrapper. */
  get passed(): bigint {
    return this.#wrapper ? this.#block.block - this.#wrapper.block : 0n;
  }

  /** The blocks that have left out the nonce, under whichever wrapper, and the time that it stands still. */
  get still(): { readonly nonce: bigint; readonly blocks: bigint; readonly ms: number } | undefined {
    const nonce = this.#nonce;
    return (
      nonce && { nonce: nonce.nonce, blocks: this.#block.block - nonce.block, ms: this.#now() - nonce.at }
    );
  }

  /** Nothing new may go out behind the nonce. */
  get isBraked(): boolean {
    const { still } = this;
    if (still === undefined) return false;
    const usualMs = this.#intervalMs * Number(this.#usual + 1n);
    return this.isFree || still.blocks >= this.#usual + BRAKE_BLOCKS || still.ms >= STILL_MS + usualMs;
  }

  /**
   * The present wrapper is to be withdrawn, and its nonce goes to another. Blocks may come many at a time, so the wrapper was sent
   * again before, and further blocks have left it out.
   */
  get isOver(): boolean {
    if (this.#wrapper === undefined || this.#resentAfter === 0n || this.passed < this.#resentAfter)
      return false;
    return this.passed >= this.#usual + WITHDRAW_BLOCKS && this.#now() - this.#wrapper.at >= MIN_WITHDRAW_MS;
  }

  /** Whether the pool may have lost the lane's wrappers. True once for each two blocks that pass the head over. */
  takeLoss(): boolean {
    if (this.passed < this.#usual + BRAKE_BLOCKS || this.passed < this.#resentAfter) return false;
    this.#resentAfter = this.passed + BRAKE_BLOCKS;
    return true;
  }

  /** The nonce stands still and has no wrapper: the next step gives it one. */
  get isFree(): boolean {
    return this.#nonce !== undefined && this.#wrapper === undefined;
  }

  /** The wrapper of the nonce that stands still was withdrawn. */
  onWithdrawn(): void {
    this.#wrapper = undefined;
  }

  /** A node has taken another wrapper under the nonce. */
  onFilled(wrapperHash: Uint8Array): void {
    this.#isJammed = false;
    if (this.#nonce) this.#follow(wrapperHash, { block: this.#block.block, at: this.#now() });
  }

  /** No node takes another wrapper under the nonce. */
  onHeld(): void {
    this.#isJammed = true;
  }

  /** Every node that answers holds a wrapper that blocks leave out, and takes no other under its nonce. */
  get isJammed(): boolean {
    return this.#isJammed;
  }

  /** The name of the wait while nothing new goes out; undefined if it does not wait for its head. */
  get wait(): LaneWait | undefined {
    const { still } = this;
    if (still === undefined || !this.isBraked) return undefined;
    const { nonce, blocks } = still;
    const hasNoBlock = this.#nonce?.firstBlock === this.#block.block;
    if (this.#isJammed)
      return { cause: "jam", sentence: `nonce ${nonce} is held by a wrapper that ${blocks} blocks left out` };
    if (hasNoBlock) return { cause: "block", sentence: `no block has come since nonce ${nonce} was sent` };
    if (blocks === 0n) return { cause: "head", sentence: `blocks have no room for nonce ${nonce}` };
    return { cause: "head", sentence: `${blocks} blocks left out nonce ${nonce}` };
  }

  get #usual(): bigint {
    const sorted = [...this.#waits].sort((a, b) => Number(a - b));
    // One of a few is not usual: a wrapper that pools have lost waits longer.
    const usual = sorted[Math.floor((sorted.length - 1) * 0.9)] ?? 0n;
    return usual < MAX_USUAL ? usual : MAX_USUAL;
  }

  #follow(hash: Uint8Array, since: Since): void {
    this.#wrapper = { hash, ...since };
    this.#resentAfter = 0n;
  }

  /** The nonce was used, or a reorg took it back. */
  #noteMove(waiverNonce: bigint): void {
    if (this.#wrapper && this.#nonce && waiverNonce > this.#nonce.nonce)
      this.#waits = [...this.#waits.slice(1 - SAMPLES), this.passed];
    this.forget();
  }

  #noteBlock({ block, at }: Since): void {
    const blocks = Number(block - this.#block.block);
    if (blocks > 0) this.#intervalMs = Math.min(MAX_INTERVAL_MS, (at - this.#block.at) / blocks);
    if (blocks !== 0) this.#block = { block, at };
  }
}
