import { isObject } from "../../chain/rpc/rpc.js";
import { withoutBaseFee } from "../prices.js";

/** A block that the subscribers of headers have been told of. */
export interface AnnouncedBlock {
  readonly height: bigint;
  readonly hash: string;
  /** The logs that subscribers have been told of; "forgotten" where they were too many to be kept. */
  logs: readonly Announcement[] | "forgotten";
}

/** The blocks that are remembered. A reorg that is deeper ends the subscriptions of logs. */
export const MAX_ANNOUNCED = 128;
/** The characters of the logs that are kept, so that a reorg can take them back. */
const MAX_KEPT_CHARACTERS = 16_777_216;

/** The latest announced blocks, each the parent of the next, with their logs. */
export class AnnouncedBlocks {
  #blocks: AnnouncedBlock[] = [];

  get latest(): AnnouncedBlock | undefined {
    return this.#blocks.at(-1);
  }

  get earliest(): AnnouncedBlock | undefined {
    return this.#blocks[0];
  }

  /** Whether earlier blocks may have been announced and are not remembered. */
  get isFull(): boolean {
    return this.#blocks.length >= MAX_ANNOUNCED;
  }

  /** @returns undefined if no block of this height is remembered. */
  at(height: bigint): AnnouncedBlock | undefined {
    const first = this.#blocks[0];
    return first && height >= first.height ? this.#blocks[Number(height - first.height)] : undefined;
  }

  /** Appends a child of the latest block. */
  add(block: AnnouncedBlock): void {
    this.#blocks.push(block);
    if (this.#blocks.length > MAX_ANNOUNCED) this.#blocks.shift();
  }

  /** Keeps the logs of a block, and forgets those of the oldest blocks where they are too many together. */
  keepLogs(block: AnnouncedBlock, logs: readonly Announcement[]): void {
    block.logs = logs;
    let characters = 0;
    for (const kept of this.#blocks.toReversed()) {
      if (kept.logs !== "forgotten") characters += charactersOf(kept.logs);
      if (characters > MAX_KEPT_CHARACTERS) kept.logs = "forgotten";
    }
  }

  /** Removes the blocks above this height. @returns them, the latest first. */
  removeAbove(height: bigint): AnnouncedBlock[] {
    const kept = this.#blocks.filter((block) => block.height <= height);
    const removed = this.#blocks.slice(kept.length).reverse();
    this.#blocks = kept;
    return removed;
  }

  clear(): void {
    this.#blocks = [];
  }
}

function charactersOf(logs: readonly Announcement[]): number {
  return logs.reduce((sum, { text }) => sum + text.length, 0);
}

/** A header or a log, written once for all subscriptions. */
export interface Announcement {
  readonly value: unknown;
  readonly text: string;
}

const BODY_FIELDS: ReadonlySet<string> = new Set([
  "transactions",
  "uncles",
  "size",
  "withdrawals",
  "totalDifficulty",
]);

/** A block without its body, as nodes announce it. */
export function announcementOfHeader(block: Readonly<Record<string, unknown>>): Announcement {
  const header = Object.entries(block).filter(([field]) => !BODY_FIELDS.has(field));
  return announcementOf(withoutBaseFee(Object.fromEntries(header)));
}

export function announcementOf(value: unknown): Announcement {
  return { value, text: JSON.stringify(value) };
}

/** The logs of a block that a reorg has removed, the latest first, as geth announces them. */
export function removalsOf(logs: readonly Announcement[]): Announcement[] {
  return logs
    .toReversed()
    .map(({ value }) => announcementOf({ ...(isObject(value) && value), removed: true }));
}
