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
 */
export class LogSubscriptions {
  readonly #feed: Pick<BlockFeed, "onLogs">;
  readonly #client: ComparingClient;
  readonly #open = new Set<LogSubscription>();
  readonly #waiting: WaitingLogs[] = [];
  #isComparing = false;
  #stop: (() => void) | undefined;

  constructor(feed: Pick<BlockFeed, "onLogs">, client: ComparingClient) {
    this.#feed = feed;
    this.#client = client;
  }

  /** @returns a function that ends the subscription. */
  add(subscription: LogSubscription): () => void {
    this.#open.add(subscription);
    const onLost = () => this.#client.onLost();
    this.#stop ??= this.#feed.onLogs({ onLogs: (logs) => this.#onLogs(logs), onLost });
    return () => {
      this.#open.delete(subscription);
      if (this.#open.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    };
  }

  #onLogs(logs: readonly Announcement[]): void {
    if (this.#waiting.length >= MAX_ANNOUNCED) {
      this.#client.onLost();
      return;
    }
    this.#waiting.push({ logs, subscriptions: [...this.#open] });
    if (!this.#isComparing) void this.#compareWaiting();
  }

  async #compareWaiting(): Promise<void> {
    this.#isComparing = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      const { logs, subscriptions } = next;
      const perTurn = Math.max(1, Math.floor(COMPARED_PER_TURN / logs.length));
      for (const some of chunk(subscriptions, perTurn)) {
        await this.#client.inTurn(some.length * logs.length, () => this.#compare(logs, some));
      }
    }
    this.#isComparing = false;
  }

  #compare(logs: readonly Announcement[], subscriptions: readonly LogSubscription[]): void {
    for (const subscription of subscriptions) {
      if (this.#open.has(subscription))
        subscription.send(logs.filter(({ value }) => subscription.isWanted(value)));
    }
  }
}
