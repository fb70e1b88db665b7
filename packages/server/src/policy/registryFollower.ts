import { bytesToHex } from "@gas-waiver/protocol";
import type { Logger } from "../model/telemetry/log.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";
import type { BlockRef, Registry, RegistryReading } from "./registry.js";

export interface FollowRegistryOptions {
  readonly registry: Registry;
  readonly log: Logger;
  readonly pollIntervalMs: number;
  /** @returns the waivers to read: 20 bytes each. */
  waivers(): readonly Uint8Array[];
  /** Aborted when the calls to the nodes are given up. A reading that this ends is no failure. */
  readonly signal?: AbortSignal;
  /** Called with each reading, which has the order of `waivers`. */
  onReading(waivers: readonly Uint8Array[], reading: RegistryReading): void;
}

/** The registry is also asked without a new block, after this many intervals. */
const INTERVALS_WITHOUT_BLOCK = 25;
const INTERVALS_AFTER_FAILURE = 5;
/**
 * All policies are read again after this time, whatever the events show: behind one address, a node that lags may have answered for
 * the events of a block that it did not have.
 */
const REREAD_MS = 10_000;

/**
 * Follows the registry: reads it again whenever it may have changed.
 * Checks for events with every new block. Without an event it reads no policy for a while. After an event,
 * and whenever one may have been missed (a reorg, a node that was away, another waiver), it reads all policies again.
 */
export class RegistryFollower {
  readonly #options: FollowRegistryOptions;
  readonly #timer = createWakeableTimer();
  #isClosed = false;
  /** The height that came with the last call of `refresh`. */
  #height: bigint | undefined;
  /** The last block whose events are known, for which waivers. Undefined if events may have been missed. */
  #known: { readonly block: BlockRef; readonly waivers: string; readonly readAt: number } | undefined;
  #isFailing = false;
  #running: Promise<void> = Promise.resolve();
  /** The end of the last refresh. They run one after the other, so that an older reading replaces no newer one. */
  #refreshed: Promise<void> = Promise.resolve();

  constructor(options: FollowRegistryOptions) {
    this.#options = options;
  }

  /**
   * Reads the registry for the first time, and starts to follow it.
   * @throws the error of {@link Registry.read}. The registry is followed all the same.
   */
  async start(): Promise<void> {
    try {
      await this.#refreshOnce();
    } finally {
      this.#running = this.#follow();
    }
  }

  /**
   * To be called with each new block, and when the waivers change.
   * @param height the height of the chain, if it is known.
   */
  refresh(height?: bigint): void {
    this.#height = height;
    this.#timer.wake();
  }

  /** Reads all policies again, whatever blocks show. @throws the error of {@link Registry.read}. */
  reread(): Promise<void> {
    return this.#refreshOnce({ forget: true });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.end();
    await this.#running;
  }

  async #follow(): Promise<void> {
    const { pollIntervalMs } = this.#options;
    while (!this.#isClosed) {
      const intervals = this.#isFailing ? INTERVALS_AFTER_FAILURE : INTERVALS_WITHOUT_BLOCK;
      await this.#timer.rest(intervals * pollIntervalMs, true);
      if (!this.#isClosed) await this.#refreshOnce().catch(() => {});
    }
  }

  #refreshOnce({ forget } = { forget: false }): Promise<void> {
    const refreshed = this.#refreshed.then(() => this.#refreshNow(forget));
    this.#refreshed = refreshed.catch(() => {});
    return refreshed;
  }

  async #refreshNow(forget: boolean): Promise<void> {
    const { log, signal } = this.#options;
    if (forget) this.#known = undefined;
    try {
      await this.#readIfChanged();
      if (this.#isFailing) log.info("the registry is read again");
      this.#isFailing = false;
    } catch (error) {
      this.#known = undefined;
      if (!this.#isFailing && signal?.aborted !== true)
        log.warn({ err: (error as Error).message }, "the registry cannot be read");
      this.#isFailing = true;
      throw error;
    }
  }

  async #readIfChanged(): Promise<void> {
    const { registry, onReading } = this.#options;
    const waivers = this.#options.waivers();
    const addresses = waivers.map(bytesToHex).join();
    const height = this.#height;
    this.#height = undefined;
    const known = this.#known;
    if (known?.waivers === addresses && performance.now() < known.readAt + REREAD_MS) {
      const changes = await registry.changesSince(known.block, height);
      if (changes.kind === "unchanged") {
        this.#known = { ...known, block: changes.block };
        return;
      }
    }
    const readAt = performance.now();
    const reading = await registry.read(waivers);
    onReading(waivers, reading);
    this.#known = { block: reading.block, waivers: addresses, readAt };
  }
}
