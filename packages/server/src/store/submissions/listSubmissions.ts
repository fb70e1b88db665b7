import type { Submission, SubmissionState } from "../../model/submission.js";
import type { Statement } from "../database.js";
import type { Store } from "../store.js";
import { SUBMISSION_COLUMNS, type SubmissionRow, submissionOf, toBuffer } from "../submissionRow.js";

/** Which submissions: those for which all of this holds. */
export interface ListFilter {
  readonly chain: number;
  /** The API key that they are of. */
  readonly keyId: string;
  readonly states: readonly SubmissionState[];
  /** 20 bytes. */
  readonly sender: Uint8Array | undefined;
  /** 32 bytes. */
  readonly innerHash: Uint8Array | undefined;
  /** From this id on, and before that one. */
  readonly from: string;
  readonly before: string;
  readonly limit: number;
}

export interface ListedPage {
  /** Newest first, which is by id. */
  readonly submissions: readonly Submission[];
  /** There may be more, before this id. */
  readonly next: string | undefined;
}

export const LOWEST_ID = "00000000-0000-0000-0000-000000000000";
export const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** Above every id that was made before this moment, and below the others: a UUIDv7 begins with the time in ms (D15). */
export function firstIdAt(time: Date): string {
  const ms = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return ms.length > 12 ? HIGHEST_ID : `${ms.slice(0, 8)}-${ms.slice(8)}-0000-0000-000000000000`;
}

/** A sender with more than this in blocks is found among its key's rows, so many of them for one page. */
const BUSY = 2_000;
const WALK = 5_000;

/**
 * One page of a key's submissions, however many there are in all. What is under way and what is over is read in one
 * statement, so that a submission that moves from one to the other is in it once.
 */
export async function listSubmissions(store: Store, filter: ListFilter): Promise<ListedPage> {
  const walks = await isOfBusySender(store, filter);
  const edge = walks ? await walkEnd(store, filter) : undefined;
  const query = pageQuery({ ...filter, ...(edge !== undefined && { from: edge }) }, walks);
  const { rows } = await store.pool.query<SubmissionRow>(query);
  const submissions = rows.slice(0, filter.limit).map(submissionOf);
  return { submissions, next: rows.length > filter.limit ? submissions.at(-1)?.id : edge };
}

async function isOfBusySender({ pool }: Store, { chain, sender, innerHash, states }: ListFilter) {
  if (sender === undefined || innerHash !== undefined || !states.includes("included")) return false;
  const { rowCount } = await pool.query(
    `select from finished where chain = $1 and sender = $2 and state = 'included'
     order by chain, sender, sender_nonce offset $3 limit 1`,
    [chain, toBuffer(sender), BUSY],
  );
  return rowCount === 1;
}

/** Where to end a walk through the key's rows; undefined if all of them are looked at. */
async function walkEnd({ pool }: Store, { chain, keyId, from, before }: ListFilter) {
  const { rows } = await pool.query<{ id: string }>(
    `select id from finished
     where (chain, key_id, state, id) < ($1, $2, 'included', $3) and (chain, key_id, state, id) >= ($1, $2, 'included', $4)
     order by chain desc, key_id desc, state desc, id desc offset $5 limit 1`,
    [chain, keyId, before, from, WALK - 1],
  );
  return rows[0]?.id;
}

/**
 * The ids come from one source for each place that they can be in, each in the order of its index: rows are compared as
 * a whole, because an equality would let the planner take another index that has the order, and search all of it.
 */
function pageQuery(filter: ListFilter, walks: boolean): Statement {
  const values: unknown[] = [];
  const $ = (value: unknown) => `$${values.push(value)}`;
  const { chain, keyId, states, from, before, limit } = filter;
  const sender = filter.sender && `${$(toBuffer(filter.sender))}::bytea`;
  const hash = filter.innerHash && `${$(toBuffer(filter.innerHash))}::bytea`;
  const most = $(limit + 1);
  const [ofChain, ofKey, low, high] = [
    `${$(chain)}::int`,
    `${$(keyId)}::text`,
    `${$(from)}::uuid`,
    `${$(before)}::uuid`,
  ];
  const mine = [
    `chain = ${ofChain} and key_id = ${ofKey} and id < ${high} and id >= ${low}`,
    ...(sender ? [`sender = ${sender}`] : []),
    ...(hash ? [`inner_hash = ${hash}`] : []),
  ].join(" and ");
  /** From an index that ends in the id, and begins with these. */
  const along = (columns: readonly string[], start: readonly string[], condition: string) => {
    const row = [...columns, "id"];
    const bound = (id: string) => `(${[...start, id].join(", ")})`;
    return `select id from finished
      where (${row.join(", ")}) < ${bound(high)} and (${row.join(", ")}) >= ${bound(low)} and ${condition}
      order by ${row.map((column) => `${column} desc`).join(", ")} limit ${most}`;
  };
  /** The few rows of one transaction or sender, in whatever order. */
  const among = (few: string) =>
    `select id from (select id, chain, key_id, sender, inner_hash from finished where ${few} offset 0) few
      where ${mine} order by id desc limit ${most}`;
  const included = () => {
    if (hash) return among(`inner_hash = ${hash} and state = 'included'`);
    if (sender && !walks) {
      const ofSender = `chain = ${ofChain} and sender = ${sender} and state = 'included'`;
      return among(`${ofSender} order by chain, sender, sender_nonce`);
    }
    const start = [ofChain, ofKey, "'included'::submission_state"];
    return along(["chain", "key_id", "state"], start, sender ? `sender = ${sender}` : "true");
  };
  const failed = () => {
    const ofFailed = `${mine} and state = 'failed'`;
    if (hash) return along(["chain", "key_id", "inner_hash"], [ofChain, ofKey, hash], ofFailed);
    if (sender) return along(["chain", "key_id", "sender"], [ofChain, ofKey, sender], ofFailed);
    return along(["chain", "key_id", "state"], [ofChain, ofKey, "'failed'::submission_state"], "true");
  };
  const open = states.filter((state) => state !== "failed");
  const sources = [
    `select id from unfinished where ${mine} and state = any(${$(open)}::submission_state[])
      order by id desc limit ${most}`,
    ...(states.includes("included") ? [included()] : []),
    ...(states.includes("failed") ? [failed()] : []),
  ];
  const text = `with page as (
      select id from (${sources.map((source) => `(${source})`).join(" union all ")}) sources
      order by id desc limit ${most}
    )
    select ${SUBMISSION_COLUMNS} from page join submissions using (id) order by id desc`;
  return { text, values };
}
