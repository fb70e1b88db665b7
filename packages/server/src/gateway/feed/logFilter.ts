import { isObject } from "../../chain/rpc/rpc.js";
import { invalidParams } from "../jsonRpc.js";
import { bytesAt, hexOf } from "../params.js";

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
export const MAX_FILTER_VALUES = 1_000;

/**
 * Compiles the filter of `eth_subscribe` "logs": addresses, and the topics by their places; an entry may be one value, a list
 * of alternatives, or null for any.
 * @throws {@link GatewayRefusal} "invalid params".
 */
export function compileLogFilter(filter: unknown): LogFilter {
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
  return new Set(values.map((one) => hexOf(bytesAt([one], 0, length, what))));
}

function isAmong(value: unknown, wanted: ReadonlySet<string> | undefined): boolean {
  return wanted === undefined
    ? value !== undefined
    : typeof value === "string" && wanted.has(value.toLowerCase());
}
