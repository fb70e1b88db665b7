import { isObject } from "../chain/rpc.js";
import { invalidParams } from "./jsonRpc.js";
import { bytesOf, hexOf } from "./params.js";

/** Tells whether a log is one of those that a subscription asked for. */
export type LogFilter = (log: unknown) => boolean;

const MAX_TOPICS = 4;
/** Addresses, or values of one topic, in a filter. */
const MAX_ALTERNATIVES = 1_000;

/**
 * Compiles the filter of `eth_subscribe` "logs": addresses, and the topics by their places; an entry may be one value, a list
 * of alternatives, or null for any.
 * @throws {@link RpcRefusal} "invalid params".
 */
export function compileLogFilter(filter: unknown): LogFilter {
  if (filter === undefined || filter === null) return () => true;
  if (!isObject(filter) || Array.isArray(filter)) throw invalidParams("the filter is no object");
  const { address, topics = [] } = filter;
  if (!Array.isArray(topics) || topics.length > MAX_TOPICS)
    throw invalidParams("the topics are a list of 4 at most");
  const addresses = alternativesOf(address, "an address");
  const ofTopics = topics.map((topic) => alternativesOf(topic, "a topic"));
  return (log) => {
    if (!isObject(log) || !Array.isArray(log.topics)) return false;
    const logTopics: readonly unknown[] = log.topics;
    return (
      isAmong(log.address, addresses) &&
      ofTopics.every(
        (wanted, i) => (wanted === undefined && i < logTopics.length) || isAmong(logTopics[i], wanted),
      )
    );
  };
}

/** @returns undefined where any value will do. */
function alternativesOf(value: unknown, what: string): ReadonlySet<string> | undefined {
  if (value === undefined || value === null) return undefined;
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (values.length > MAX_ALTERNATIVES)
    throw invalidParams(`the filter has more than ${MAX_ALTERNATIVES} values`);
  if (values.length === 0) return undefined;
  return new Set(values.map((one) => hexOf(bytesOf(one, what))));
}

function isAmong(value: unknown, wanted: ReadonlySet<string> | undefined): boolean {
  return wanted === undefined
    ? value !== undefined
    : typeof value === "string" && wanted.has(value.toLowerCase());
}
