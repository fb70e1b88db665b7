import { chunk } from "../../util/chunk.js";
import { type Announcement, MAX_ANNOUNCED } from "./announcedBlocks.js";
import type { BlockFeed } from "./blockFeed.js";

/** A subscription to logs. */
export interface LogSubscription {
  isWanted(log: unknown): boolean;
  send(logs: readonly Announcement[]): void;
}

/** The client of a connection. */
export interface ComparingClient {
  /** Compares so many logs with filters when it is the turn of the client's party. */
  inTurn(logs: number, compare: () => void): Promise<void>;
  /** Called when logs of some blocks cannot be announced any more. */
  onLost(): void;
}

/** Logs that wait, with the subscriptions that were open when they were announced. */
interface WaitingLogs {
  readonly logs: readonly Announcement[];
  readonly subscriptions: readonly LogSubscription[];
}

/** Logs that are compared with filters in one turn. */
const COMPARED_PER_TURN = 1_000;

/**
 * The subscriptions to logs of one connection. Each log is compared with each filter, so this waits for the turns of the client's
 * party, and a flood of filters delays its own party alone.
 * @returns a function that adds a subscription, and returns the one that ends it.
 */
export function createLogSubscriptions(feed: Pick<BlockFeed, "onLogs">, client: ComparingClient) {
  const open = new Set<LogSubscription>();
  const waiting: WaitingLogs[] = [];
  let isComparing = false;
  let stop: (() => void) | undefined;
  const compare = (logs: readonly Announcement[], subscriptions: readonly LogSubscription[]) => {
    for (const subscription of subscriptions) {
      if (open.has(subscription)) subscription.send(logs.filter(({ value }) => subscription.isWanted(value)));
    }
  };
  const compareWaiting = async () => {
    isComparing = true;
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { logs, subscriptions } = next;
      const perTurn = Math.max(1, Math.floor(COMPARED_PER_TURN / logs.length));
      for (const some of chunk(subscriptions, perTurn))
        await client.inTurn(some.length * logs.length, () => compare(logs, some));
    }
    isComparing = false;
  };
  const onLost = () => client.onLost();
  const onLogs = (logs: readonly Announcement[]) => {
    if (waiting.length >= MAX_ANNOUNCED) return onLost();
    waiting.push({ logs, subscriptions: [...open] });
    if (!isComparing) void compareWaiting();
  };
  return (subscription: LogSubscription): (() => void) => {
    open.add(subscription);
    stop ??= feed.onLogs({ onLogs, onLost });
    return () => {
      open.delete(subscription);
      if (open.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}
