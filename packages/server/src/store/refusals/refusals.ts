import type { RefusedRecord } from "@gas-waiver/protocol";
import { prepared } from "../database/statements.js";
import { inTransaction, isTransactionConflict } from "../database/transaction.js";
import type { Store } from "../store.js";
import { firstIdAt } from "../submissions/listSubmissions.js";

/** A refused line with the API key that sent it. */
export interface Refusal {
  readonly keyId: string;
  readonly record: RefusedRecord;
}

const DAY_MS = 86_400_000;
/** A refused line can be looked up for this long. */
export const REFUSALS_KEPT_MS = DAY_MS;
/** Yesterday's, today's and tomorrow's. */
const TABLES = 3;

/** Stores refusals, one statement for each day of their ids. An id that is stored already keeps its record. */
export async function saveRefusals(
  { pool }: Pick<Store, "pool">,
  refusals: readonly Refusal[],
): Promise<void> {
  for (const table of new Set(refusals.map(({ record }) => tableOf(dayOf(record.id))))) {
    const some = refusals.filter(({ record }) => tableOf(dayOf(record.id)) === table);
    await pool.query(
      prepared(
        `insert into ${table} (id, key_id, record)
         select r.id, r.key_id, r.record::json from unnest($1::uuid[], $2::text[], $3::text[]) as r (id, key_id, record)
         on conflict do nothing`,
        [
          some.map(({ record }) => record.id),
          some.map(({ keyId }) => keyId),
          some.map(({ record }) => JSON.stringify(record)),
        ],
      ),
    );
  }
}

/** Finds the refused lines of an API key from the last day. Unknown ids are left out; the order is undefined. */
export async function findRefusals(
  { pool, clock }: Pick<Store, "pool" | "clock">,
  keyId: string,
  ids: readonly string[],
): Promise<RefusedRecord[]> {
  if (ids.length === 0) return [];
  const since = firstIdAt(new Date(clock.present() - REFUSALS_KEPT_MS));
  const { rows } = await pool.query<{ record: RefusedRecord }>(
    prepared("select record from refusals where id = any($1::uuid[]) and id >= $2 and key_id = $3", [
      ids,
      since,
      keyId,
    ]),
  );
  return rows.map(({ record }) => record);
}

/**
 * Empties the table that tomorrow's refusals go to, if it holds those of three days ago.
 * @returns false if another session is in the way: the next call does it.
 */
export async function dropOldRefusals(store: Pick<Store, "pool" | "clock">): Promise<boolean> {
  const today = Math.floor(store.clock.longBefore(0).getTime() / DAY_MS);
  const table = tableOf(today + 1);
  const yesterday = firstIdAt(new Date((today - 1) * DAY_MS));
  const isOld = `select exists (select from ${table} where id < $1) as old`;
  const { rows } = await store.pool.query<{ old: boolean }>(isOld, [yesterday]);
  if (rows[0]?.old !== true) return true;
  try {
    await inTransaction(store, async (db) => {
      // Look-ups wait behind this lock while it waits itself.
      await db.query("set local lock_timeout = '200ms'");
      await db.query(`truncate ${table}`);
    });
    return true;
  } catch (error) {
    if (!isTransactionConflict(error)) throw error;
    return false;
  }
}

/** The day, counted from 1970, in the time that a UUIDv7 begins with. */
function dayOf(id: string): number {
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return Math.floor(ms / DAY_MS);
}

function tableOf(day: number): string {
  return `refusals_${day % TABLES}`;
}
