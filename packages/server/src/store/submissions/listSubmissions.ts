import type { Submission } from "../../model/submission/submission.js";
import type { Store } from "../store.js";
import { findSubmissions } from "./findSubmissions.js";
import { type Days, type ListFilter, pageQuery, planned } from "./pageQuery.js";

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
