import { randomBytes } from "node:crypto";
import { bytesToHex } from "@gas-waiver/protocol";
import { isObject } from "../../chain/rpc/rpc.js";
import { GatewayRefusal, invalidParams, RPC_CODES } from "../jsonRpc.js";
import { bytesAt } from "../params.js";
import type { Announcement } from "./announcedBlocks.js";
import type { BlockFeed } from "./blockFeed.js";
import { type ComparingClient, createLogSubscriptions } from "./logSubscriptions.js";

/** The subscriptions of one WebSocket. */
export type Subscriptions = ReturnType<typeof createSubscriptions>;

type Send = (announced: readonly Announcement[]) => void;

const MAX_SHOWN_KIND = 64;

/** The connection to a client. */
interface SubscribedClient extends ComparingClient {
  /** Sends notifications, the results of which are JSON. */
  notify(subscription: string, results: readonly string[]): void;
  /** Counts one more subscription. @returns a function to call at its end. @throws {@link GatewayRefusal} */
  enter(): () => void;
}

export function createSubscriptions(feed: Pick<BlockFeed, "onHead" | "onLogs">, client: SubscribedClient) {
  const ends = new Map<string, () => void>();
  /** The addresses and topics that the filters of all subscriptions keep in memory. */
  let filterValues = 0;
  const addLogSubscription = createLogSubscriptions(feed, client);
  const listenForLogs = (filter: unknown, send: Send): (() => void) => {
    const { isWanted, values } = compileLogFilter(filter);
    if (filterValues + values > MAX_FILTER_VALUES) {
      const message = `the filters of this connection have more than ${MAX_FILTER_VALUES} addresses and topics`;
      throw new GatewayRefusal(RPC_CODES.limitExceeded, message);
    }
    filterValues += values;
    const end = addLogSubscription({ isWanted, send });
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
    get isEmpty() {
      return ends.size === 0;
    },
    /** `eth_subscribe`. @returns the subscription's id. @throws {@link GatewayRefusal} */
    subscribe([kind, filter]: readonly unknown[]) {
      const subscription = `0x${randomBytes(16).toString("hex")}`;
      const send: Send = (announced) => {
        if (announced.length === 0) return;
        client.notify(
          subscription,
          announced.map(({ text }) => text),
        );
      };
      const leave = client.enter();
      ends.set(
        subscription,
        endOf(() => listen(kind, filter, send), leave),
      );
      return subscription;
    },
    /** `eth_unsubscribe`. @returns whether there was such a subscription. */
    unsubscribe([subscription]: readonly unknown[]) {
      if (typeof subscription !== "string") throw invalidParams("the subscription's id is missing");
      const end = ends.get(subscription);
      end?.();
      return ends.delete(subscription);
    },
    /** Ends all of them. */
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

/** The filter of a subscription. */
export interface LogFilter {
  /** Tells whether a log is one of those that the subscription asked for. */
  readonly isWanted: (log: unknown) => boolean;
  /** The addresses and topics that it keeps in memory. */
  readonly values: number;
}

const MAX_TOPICS = 4;
const ADDRESS_BYTES = 20;
const TOPIC_BYTES = 32;
/** Addresses and topics in all filters of one connection. */
const MAX_FILTER_VALUES = 1_000;

/**
 * Compiles the filter of `eth_subscribe` "logs": addresses, and the topics by their places; an entry may be one value, a list
 * of alternatives, or null for any.
 * @throws {@link GatewayRefusal} "invalid params".
 */
function compileLogFilter(filter: unknown): LogFilter {
  if (filter === undefined || filter === null) return { isWanted: () => true, values: 0 };
  if (!isObject(filter) || Array.isArray(filter)) throw invalidParams("the filter is no object");
  const { address, topics = [] } = filter;
  if (!Array.isArray(topics) || topics.length > MAX_TOPICS)
    throw invalidParams("the topics are a list of 4 at most");
  const addresses = alternativesOf(address, ADDRESS_BYTES, "an address");
  const ofTopics = topics.map((topic) => alternativesOf(topic, TOPIC_BYTES, "a topic"));
  const values = [addresses, ...ofTopics].reduce((sum, wanted) => sum + (wanted?.size ?? 0), 0);
  const isWanted = (log: unknown) => {
    if (!isObject(log) || !Array.isArray(log.topics)) return false;
    const logTopics: readonly unknown[] = log.topics;
    return (
      isAmong(log.address, addresses) &&
      ofTopics.every(
        (wanted, i) => (wanted === undefined && i < logTopics.length) || isAmong(logTopics[i], wanted),
      )
    );
  };
  return { isWanted, values };
}

/** @returns undefined where any value will do. */
function alternativesOf(value: unknown, length: number, what: string): ReadonlySet<string> | undefined {
  if (value === undefined || value === null) return undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (values.length > MAX_FILTER_VALUES)
    throw invalidParams(`the filter has more than ${MAX_FILTER_VALUES} values`);
  if (values.length === 0) return undefined;
  return new Set(values.map((one) => bytesToHex(bytesAt([one], 0, length, what))));
}

function isAmong(value: unknown, wanted: ReadonlySet<string> | undefined): boolean {
  return wanted === undefined
    ? value !== undefined
    : typeof value === "string" && wanted.has(value.toLowerCase());
}
