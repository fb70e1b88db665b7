import { toQuantity } from "../chain/calls.js";
import { isObject, type Rpc, resultOf } from "../chain/rpc.js";
import type { Logger } from "../model/log.js";
import { heightIn } from "./logRange.js";
import { withoutBaseFee } from "./prices.js";

/** A header or a log, written once for all subscriptions. */
export interface Announcement {
  readonly value: unknown;
  readonly text: string;
}

/** Announces each new block to the subscriptions of all clients, which one set of calls to the node serves. */
export interface BlockFeed {
  /** @returns a function that ends the listening. */
  onHead(listener: (header: Announcement) => void): () => void;
  /** Called with all logs of each new block. @returns a function that ends the listening. */
  onLogs(listener: (logs: readonly Announcement[]) => void): () => void;
}

/** Tells of new blocks, as the service's own watch of the chain sees them. */
export interface NewBlocks {
  /** @returns a function that ends the listening. While anybody listens, the chain is polled as often as for a lane. */
  onNewBlock(listener: () => void): () => void;
}

export interface BlockFeedDependencies {
  readonly rpc: Pick<Rpc, "read">;
  readonly newBlocks: NewBlocks;
  readonly log: Logger;
}

/** After an absence of the node, this many blocks are made up for. */
const MAX_MISSED = 128n;

/** The feed works while somebody listens. */
export function createBlockFeed({ rpc, newBlocks, log }: BlockFeedDependencies): BlockFeed {
  const heads = new Set<(header: Announcement) => void>();
  const logs = new Set<(logs: readonly Announcement[]) => void>();
  let stop: (() => void) | undefined;
  /** The last announced block; undefined until the first. */
  let announced: { readonly height: bigint; readonly hash: unknown } | undefined;
  let work = Promise.resolve();
  let isQueued = false;
  const call = async (method: string, params: readonly unknown[]) => {
    const [outcome] = await rpc.read([{ method, params }]);
    return outcome && resultOf(outcome);
  };
  const announce = async (height: bigint) => {
    const block = await call("eth_getBlockByNumber", [toQuantity(height), false]);
    const hasListeners = heads.size + logs.size > 0;
    if (!isObject(block) || !hasListeners || block.hash === announced?.hash) return;
    announced = { height, hash: block.hash };
    const header = announcementOf(headerOf(block));
    for (const listener of heads) listener(header);
    if (logs.size === 0) return;
    const found = await call("eth_getLogs", [{ blockHash: block.hash }]);
    if (!Array.isArray(found) || found.length === 0) return;
    const ofBlock = found.map(announcementOf);
    for (const listener of logs) listener(ofBlock);
  };
  const catchUp = async () => {
    const height = heightIn({ number: await call("eth_blockNumber", []) }, "number");
    if (height === undefined) return;
    // A height that is not above the last one may be another chain's after a reorg: its latest block is announced.
    const next = announced === undefined || announced.height >= height ? height : announced.height + 1n;
    const first = height - next > MAX_MISSED ? height - MAX_MISSED : next;
    for (let number = first; number <= height; number++) await announce(number);
  };
  const onNewBlock = () => {
    if (isQueued) return;
    isQueued = true;
    // One block after the other, so that no client sees them out of order.
    work = work
      .then(() => {
        isQueued = false;
        return catchUp();
      })
      .catch((error: Error) => log.debug({ err: error.message }, "a block was not announced"));
  };
  const listen = <T>(listeners: Set<T>, listener: T) => {
    listeners.add(listener);
    stop ??= newBlocks.onNewBlock(onNewBlock);
    return () => {
      listeners.delete(listener);
      if (heads.size + logs.size > 0) return;
      stop?.();
      stop = undefined;
      announced = undefined;
    };
  };
  return {
    onHead: (listener) => listen(heads, listener),
    onLogs: (listener) => listen(logs, listener),
  };
}

function announcementOf(value: unknown): Announcement {
  return { value, text: JSON.stringify(value) };
}

const BODY_FIELDS: ReadonlySet<string> = new Set([
  "transactions",
  "uncles",
  "size",
  "withdrawals",
  "totalDifficulty",
]);

/** A block without its body, as nodes announce it. */
function headerOf(block: Record<string, unknown>): unknown {
  const header = Object.entries(block).filter(([field]) => !BODY_FIELDS.has(field));
  return withoutBaseFee(Object.fromEntries(header));
}
