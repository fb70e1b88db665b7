import { randomBytes } from "node:crypto";
import { GatewayRefusal, invalidParams, RPC_CODES } from "../jsonRpc.js";
import type { Announcement } from "./announcement.js";
import type { BlockFeed } from "./blockFeed.js";
import { compileLogFilter, MAX_FILTER_VALUES } from "./logFilter.js";
import { type ComparingClient, LogSubscriptions } from "./logSubscriptions.js";

/** The subscriptions of one WebSocket. */
export interface Subscriptions {
  /** `eth_subscribe`. @returns the subscription's id. @throws {@link GatewayRefusal} */
  subscribe(params: readonly unknown[]): string;
  /** `eth_unsubscribe`. @returns whether there was such a subscription. */
  unsubscribe(params: readonly unknown[]): boolean;
  /** Ends all of them. */
  end(): void;
}

type Send = (announced: readonly Announcement[]) => void;

const MAX_SHOWN_KIND = 64;

/** The connection to a client. */
export interface SubscribedClient extends ComparingClient {
  /** Sends notifications, the results of which are JSON. */
  notify(subscription: string, results: readonly string[]): void;
  /** Counts one more subscription beside the open ones. @returns a function to call at its end. @throws {@link GatewayRefusal} */
  enter(open: number): () => void;
}

export function createSubscriptions(
  feed: Pick<BlockFeed, "onHead" | "onLogs">,
  client: SubscribedClient,
): Subscriptions {
  const ends = new Map<string, () => void>();
  /** The addresses and topics that the filters of all subscriptions keep in memory. */
  let filterValues = 0;
  const logSubscriptions = new LogSubscriptions(feed, client);
  const listenForLogs = (filter: unknown, send: Send): (() => void) => {
    const { isWanted, values } = compileLogFilter(filter);
    if (filterValues + values > MAX_FILTER_VALUES) {
      const message = `the filters of this connection have more than ${MAX_FILTER_VALUES} addresses and topics`;
      throw new GatewayRefusal(RPC_CODES.limitExceeded, message);
    }
    filterValues += values;
    const end = logSubscriptions.add({ isWanted, send });
    return () => {
      filterValues -= values;
      end();
    };
  };
  const listen = (kind: unknown, filter: unknown, send: Send): (() => void) => {
    if (kind === "newHeads") return feed.onHead((header) => send([header]));
    if (kind === "logs") return listenForLogs(filter, send);
    const shown = String(JSON.stringify(kind)).slice(0, MAX_SHOWN_KIND);
    throw new GatewayRefusal(RPC_CODES.methodNotFound, `no ${shown} subscription in eth namespace`);
  };
  return {
    subscribe([kind, filter]) {
      const subscription = `0x${randomBytes(16).toString("hex")}`;
      const send: Send = (announced) => {
        if (announced.length === 0) return;
        client.notify(
          subscription,
          announced.map(({ text }) => text),
        );
      };
      const leave = client.enter(ends.size);
      ends.set(
        subscription,
        endOf(() => listen(kind, filter, send), leave),
      );
      return subscription;
    },
    unsubscribe([subscription]) {
      if (typeof subscription !== "string") throw invalidParams("the subscription's id is missing");
      const end = ends.get(subscription);
      end?.();
      return ends.delete(subscription);
    },
    end() {
      for (const end of ends.values()) end();
      ends.clear();
    },
  };
}

/** Begins to listen. @returns a function that ends it, and the count of the subscription. */
function endOf(listen: () => () => void, leave: () => void): () => void {
  try {
    const end = listen();
    return () => {
      end();
      leave();
    };
  } catch (error) {
    leave();
    throw error;
  }
}
