import type { Submission, SubmissionState } from "../../model/submission/submission.js";
import type { Statement } from "../database/database.js";
import { prepared } from "../database/statements.js";
import type { Store } from "../store.js";
import { findSubmissions } from "./findSubmissions.js";

export interface ListedPage {
  /** The newest first, which is the descending order of the ids. */
  readonly submissions: readonly Submission[];
  /** The next page is below this id; undefined on the last page. */
  readonly next: string | undefined;
}

export const LOWEST_ID = "00000000-0000-0000-0000-000000000000";
export const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The boundary between the ids made before a moment and those made since: a UUIDv7 begins with the time in ms (D15). */
export function firstIdAt(time: Date): string {
  const ms = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return ms.length > 12 ? HIGHEST_ID : `${ms.slice(0, 8)}-${ms.slice(8)}-0000-0000-000000000000`;
}

/** The submissions of a sender with more included ones than this are searched among its API key's rows. */
const BUSY_SENDER_ROWS = 2_000;
/** One page searches at most this many rows of the API key. */
const SCAN_ROWS = 5_000;

/**
 * Reads one page of an API key's submissions. Its cost does not depend on how many there are in all: the recent days come
 * first, and most pages end there. One statement finds the ids in both tables, so that a submission that moves from
 * `unfinished` to `finished` is on the page once.
 */
export async function listSubmissions(store: Store, filter: ListFilter): Promise<ListedPage> {
  const recent = await listDays(store, filter, "id >= recent_outcomes()");
  if (recent.next !== undefined) return recent;
  const missing = filter.limit - recent.submissions.length;
  const old = await listDays(store, { ...filter, limit: Math.max(1, missing) }, "id < recent_outcomes()");
  // A full page of recent ones has a next page if anything is older.
  if (missing === 0)
    return { ...recent, next: old.submissions.length > 0 ? recent.submissions.at(-1)?.id : old.next };
  return { submissions: [...recent.submissions, ...old.submissions], next: old.next };
}

async function listDays(store: Store, filter: ListFilter, days: Days): Promise<ListedPage> {
  const scansKey = await hasBusySender(store, filter, days);
  const scannedTo = scansKey ? await scanEnd(store, filter, days) : undefined;
  const query = pageQuery({ ...filter, ...(scannedTo !== undefined && { from: scannedTo }) }, scansKey, days);
  const { rows } = await store.pool.query<{ id: string }>(query);
  const ids = rows.slice(0, filter.limit).map(({ id }) => id);
  const submissions = await findSubmissions(store, ids);
  submissions.sort((one, other) => (one.id < other.id ? 1 : -1));
  return { submissions, next: rows.length > filter.limit ? ids.at(-1) : scannedTo };
}

async function hasBusySender({ pool }: Store, { chain, sender, innerHash, states }: ListFilter, days: Days) {
  if (sender === undefined || innerHash !== undefined || !states.includes("included")) return false;
  const { rowCount } = await pool.query(
    planned(
      days,
      `select from finished where chain = $1 and sender = $2 and state = 'included' and ${days}
       order by chain, sender, sender_nonce offset $3 limit 1`,
      [chain, sender, BUSY_SENDER_ROWS],
    ),
  );
  return rowCount === 1;
}

/** The id where the search among the key's rows ends; undefined if it covers all of them. */
async function scanEnd({ pool }: Store, { chain, keyId, from, before }: ListFilter, days: Days) {
  const { rows } = await pool.query<{ id: string }>(
    planned(
      days,
      `select id from finished
       where (chain, key_id, state, id) < ($1, $2, 'included', $3)
         and (chain, key_id, state, id) >= ($1, $2, 'included', $4) and ${days}
       order by chain desc, key_id desc, state desc, id desc offset $5 limit 1`,
      [chain, keyId, before, from, SCAN_ROWS - 1],
    ),
  );
  return rows[0]?.id;
}

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
