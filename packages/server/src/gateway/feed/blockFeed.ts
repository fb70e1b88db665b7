import { setImmediate as nextTurn } from "node:timers/promises";
import { blockCall, blockNumberCall, logsCall } from "../../chain/client/calls.js";
import type { BlockWatch } from "../../chain/heads/blockWatch.js";
import { isObject, type Rpc, type RpcCall, resultOf } from "../../chain/rpc/rpc.js";
import type { Logger } from "../../model/telemetry/log.js";
import { heightIn } from "../logRange.js";
import {
  type AnnouncedBlock,
  AnnouncedBlocks,
  type Announcement,
  announcementOf,
  announcementOfHeader,
  MAX_ANNOUNCED,
  removalsOf,
} from "./announcedBlocks.js";

export type HeadListener = (header: Announcement) => void;

export interface LogListener {
  /** Called with all logs of each new block, and with those of removed blocks, which say `removed: true`. */
  onLogs(logs: readonly Announcement[]): void;
  /** Called when logs of some blocks cannot be announced any more. */
  onLost(): void;
}

/** The chain's progress, as the service's own watch sees it. */
export type NewBlocks = Pick<BlockWatch, "height" | "onNewBlock" | "onRewind">;

export interface BlockFeedDependencies {
  readonly rpc: Pick<Rpc, "read">;
  readonly newBlocks: Pick<NewBlocks, "onNewBlock">;
  readonly log: Logger;
}

/** The pause after a failure, in ms. A new block ends it. */
const RETRY_MS = 500;
/** Listeners that are told in one turn of the event loop. Their work waits for the turns of their parties. */
const LISTENERS_PER_TURN = 250;

/** A block as the node has answered it. */
interface ReadBlock {
  readonly height: bigint;
  readonly hash: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/**
 * Announces each new block to the subscriptions of all clients, which one set of calls to the node serves.
 * The feed works while somebody listens.
 */
export class BlockFeed {
  readonly #dependencies: BlockFeedDependencies;
  readonly #heads = new Set<HeadListener>();
  readonly #logs = new Set<LogListener>();
  readonly #announced = new AnnouncedBlocks();
  /** Announced blocks whose logs have not been read, in their order. */
  #unread: AnnouncedBlock[] = [];
  #stop: (() => void) | undefined;
  #retry: NodeJS.Timeout | undefined;
  #work = Promise.resolve();
  #isQueued = false;

  constructor(dependencies: BlockFeedDependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns a function that ends the listening. */
  onHead(listener: HeadListener): () => void {
    return this.#listen(this.#heads, listener);
  }

  /** @returns a function that ends the listening. */
  onLogs(listener: LogListener): () => void {
    return this.#listen(this.#logs, listener);
  }

  #listen<T>(listeners: Set<T>, listener: T): () => void {
    listeners.add(listener);
    this.#stop ??= this.#dependencies.newBlocks.onNewBlock(this.#follow);
    return () => {
      listeners.delete(listener);
      if (this.#logs.size === 0) this.#unread = [];
      if (this.#heads.size + this.#logs.size > 0) return;
      clearTimeout(this.#retry);
      this.#stop?.();
      this.#stop = undefined;
      this.#announced.clear();
    };
  }

  /** One block after the other, so that no client sees them out of order. */
  readonly #follow = () => {
    clearTimeout(this.#retry);
    if (this.#isQueued) return;
    this.#isQueued = true;
    this.#work = this.#work
      .then(async () => {
        this.#isQueued = false;
        await this.#announceBlocks();
        await this.#announceLogs();
      })
      .catch((error: Error) => {
        this.#dependencies.log.debug({ err: error.message }, "a block was not announced yet");
        if (this.#stop) this.#retry = setTimeout(this.#follow, RETRY_MS).unref();
      });
  };

  async #announceBlocks(): Promise<void> {
    const height = heightIn({ number: await this.#call(blockNumberCall()) }, "number");
    if (height === undefined) throw new Error("the node has no height");
    const { latest, earliest } = this.#announced;
    // A node that is behind says so. After a reorg to there, the blocks that grow on it differ from the announced ones.
    if (earliest && height < earliest.height) return;
    // A height that is not above the last one may be another chain's after a reorg.
    let next = latest === undefined || latest.height >= height ? height : latest.height + 1n;
    if (height - next >= MAX_ANNOUNCED) {
      next = height - BigInt(MAX_ANNOUNCED) + 1n;
      this.#announced.clear();
      this.#loseLogs();
    }
    for (; next <= height && this.#stop; next++) {
      const block = await this.#readBlock(next);
      if (this.#announced.at(next)?.hash !== block.hash) await this.#announceBranch(block);
    }
  }

  /** Announces a block, and those of its ancestors that a reorg has brought. */
  async #announceBranch(head: ReadBlock): Promise<void> {
    const branch = [head];
    let first = head;
    let parent = this.#announced.at(first.height - 1n);
    while (parent && parent.hash !== first.content.parentHash) {
      first = await this.#readBlock(first.height - 1n);
      branch.unshift(first);
      parent = this.#announced.at(first.height - 1n);
    }
    // While the node answered, the last subscription may have ended.
    if (!this.#stop) return;
    if (this.#announced.isFull && !parent) this.#loseLogs();
    await this.#takeBack(this.#announced.removeAbove(first.height - 1n));
    for (const { height, hash, content } of branch) {
      const announced: AnnouncedBlock = { height, hash, logs: [] };
      this.#announced.add(announced);
      if (this.#logs.size > 0) this.#unread.push(announced);
      const header = announcementOfHeader(content);
      await this.#notify(this.#heads, (listener) => listener(header));
    }
    if (this.#unread.length > MAX_ANNOUNCED) this.#loseLogs();
  }

  /** Announces the logs of removed blocks once more, as removed. */
  async #takeBack(removed: readonly AnnouncedBlock[]): Promise<void> {
    this.#unread = this.#unread.filter((block) => !removed.includes(block));
    for (const { logs } of removed) {
      if (logs === "forgotten") this.#loseLogs();
      else await this.#notifyOfLogs(removalsOf(logs));
    }
  }

  /** A block whose logs the node does not give comes first the next time. */
  async #announceLogs(): Promise<void> {
    for (let block = this.#unread[0]; block; block = this.#unread[0]) {
      const found = await this.#call(logsCall({ blockHash: block.hash }));
      if (!Array.isArray(found)) throw new Error("the node gives no list of logs");
      // While the node answered, the last subscription may have ended.
      if (this.#unread[0] !== block) continue;
      this.#unread.shift();
      const logs = found.map(announcementOf);
      this.#announced.keepLogs(block, logs);
      await this.#notifyOfLogs(logs);
    }
  }

  async #notifyOfLogs(logs: readonly Announcement[]): Promise<void> {
    if (logs.length > 0) await this.#notify(this.#logs, (listener) => listener.onLogs(logs));
  }

  /** Lets the event loop turn between many listeners, so that nobody else waits for all of them. */
  async #notify<T>(listeners: ReadonlySet<T>, notify: (listener: T) => void): Promise<void> {
    let told = 0;
    for (const listener of [...listeners]) {
      if (++told % LISTENERS_PER_TURN === 0) await nextTurn();
      if (listeners.has(listener)) notify(listener);
    }
  }

  /** Subscribers have to know of a gap. They may subscribe again, and search for what they have missed. */
  #loseLogs(): void {
    this.#unread = [];
    for (const listener of [...this.#logs]) listener.onLost();
  }

  async #readBlock(height: bigint): Promise<ReadBlock> {
    const content = await this.#call(blockCall(height));
    if (!isObject(content) || typeof content.hash !== "string")
      throw new Error(`the node has no block ${height}`);
    return { height, hash: content.hash, content };
  }

  async #call(call: RpcCall): Promise<unknown> {
    const [outcome] = await this.#dependencies.rpc.read([call]);
    return outcome && resultOf(outcome);
  }
}
