import type { SubmissionState } from "../../model/submission/submission.js";
import type { Statement } from "../database/database.js";
import { prepared } from "../database/statements.js";

/** The conditions of a list. A submission must meet all of them. */
export interface ListFilter {
  readonly chain: number;
  /** The API key that submitted them. */
  readonly keyId: string;
  readonly states: readonly SubmissionState[];
  /** 20 bytes. */
  readonly sender: Uint8Array | undefined;
  /** 32 bytes. */
  readonly innerHash: Uint8Array | undefined;
  /** Ids from `from` on, and below `before`. */
  readonly from: string;
  readonly before: string;
  readonly limit: number;
  /** Leaves out unfinished submissions, which no index has by their hashes. */
  readonly onlyFinished?: boolean;
}

/** The days whose partitions a query reads, by a condition on `id` that the planner knows. */
export type Days = "id >= recent_outcomes()" | "id < recent_outcomes()";

/** Old partitions are many and do not grow, so their plan is kept. A recent one is planned by what it has now. */
export const planned = (days: Days, text: string, values: readonly unknown[]): Statement =>
  days === "id < recent_outcomes()" ? prepared(text, values) : { text, values };

/** The filter as the parameters of the query. */
interface Terms {
  readonly days: Days;
  readonly chain: string;
  readonly key: string;
  readonly sender: string | undefined;
  readonly hash: string | undefined;
  /** The bounds of the ids: from the first on, and below the second. */
  readonly low: string;
  readonly high: string;
  readonly states: string;
  readonly maxRows: string;
  /** The condition that has all of the filter but its states. */
  readonly matches: string;
}

/**
 * The query of a page. Each table and state is a source of ids, read in the order of an index. Bounds compare whole rows:
 * with separate equalities the planner could take another index with that order, and search all of it.
 * @param scansKey searches the key's rows for those of a sender that has many.
 */
export function pageQuery(filter: ListFilter, scansKey: boolean, days: Days): Statement {
  const { states, onlyFinished } = filter;
  const { terms, values } = termsOf(filter, days);
  const sources = [
    ...(onlyFinished ? [] : [unfinishedIds(terms)]),
    ...(states.includes("included") ? [includedIds(terms, scansKey)] : []),
    ...(states.includes("failed") ? [failedIds(terms)] : []),
  ];
  const text = `select id from (${sources.map((source) => `(${source})`).join(" union all ")}) sources
    order by id desc limit ${terms.maxRows}`;
  return planned(days, text, values);
}

function termsOf(filter: ListFilter, days: Days): { terms: Terms; values: readonly unknown[] } {
  const values: unknown[] = [];
  const $ = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const chain = $(filter.chain, "int");
  const key = $(filter.keyId, "text");
  const low = $(filter.from, "uuid");
  const high = $(filter.before, "uuid");
  const sender = filter.sender && $(filter.sender, "bytea");
  const hash = filter.innerHash && $(filter.innerHash, "bytea");
  const maxRows = $(filter.limit + 1, "bigint");
  const states = filter.onlyFinished
    ? ""
    : $(
        filter.states.filter((state) => state !== "failed"),
        "submission_state[]",
      );
  const matches = [
    `chain = ${chain} and key_id = ${key} and id < ${high} and id >= ${low}`,
    ...(sender ? [`sender = ${sender}`] : []),
    ...(hash ? [`inner_hash = ${hash}`] : []),
  ].join(" and ");
  return { terms: { days, chain, key, sender, hash, low, high, states, maxRows, matches }, values };
}

function unfinishedIds({ days, chain, sender, states, maxRows, matches }: Terms): string {
  // The few rows of a sender are read along its index, whatever PostgreSQL believes of a table that changes so fast.
  const from = sender
    ? `(select * from unfinished where sender = ${sender} and chain + 0 = ${chain} order by sender, sender_nonce offset 0) few`
    : "unfinished";
  return `select id from ${from} where ${matches} and ${days} and state = any(${states})
    order by id desc limit ${maxRows}`;
}

function includedIds(terms: Terms, scansKey: boolean): string {
  const { chain, key, sender, hash } = terms;
  if (hash) return among(terms, `inner_hash = ${hash} and state = 'included'`);
  if (sender && !scansKey) {
    const ofSender = `chain = ${chain} and sender = ${sender} and state = 'included'`;
    return among(terms, `${ofSender} order by chain, sender, sender_nonce`);
  }
  const start = { chain, key_id: key, state: "'included'::submission_state" };
  return along(terms, start, sender ? `sender = ${sender}` : "true");
}

function failedIds(terms: Terms): string {
  const { chain, key, sender, hash } = terms;
  if (hash) {
    const ofSender = sender ? ` and sender = ${sender}` : "";
    return along(terms, { chain, inner_hash: hash, key_id: key }, `state = 'failed'${ofSender}`);
  }
  if (sender) return along(terms, { chain, sender, key_id: key }, "state = 'failed'");
  return along(terms, { chain, key_id: key, state: "'failed'::submission_state" }, "true");
}

/**
 * Reads along an index that begins with some columns and ends in the id.
 * @param start the columns with their values, in the order of the index.
 */
function along(
  { days, low, high, maxRows }: Terms,
  start: Readonly<Record<string, string>>,
  condition: string,
): string {
  const columns = [...Object.keys(start), "id"];
  const row = columns.join(", ");
  const bound = (id: string) => [...Object.values(start), id].join(", ");
  return `select id from finished
    where (${row}) < (${bound(high)}) and (${row}) >= (${bound(low)}) and ${condition} and ${days}
    order by ${columns.map((column) => `${column} desc`).join(", ")} limit ${maxRows}`;
}

/** Reads the few rows of one transaction or sender, and sorts them. */
function among({ days, maxRows, matches }: Terms, few: string): string {
  return `select id from (select id, chain, key_id, sender, inner_hash from finished where ${days} and ${few} offset 0) few
    where ${matches} order by id desc limit ${maxRows}`;
}
