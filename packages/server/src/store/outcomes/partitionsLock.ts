import type { Pool, PooledConnection } from "../database/database.js";
import { doLongWork } from "../database/longWork.js";
import { advisoryLock } from "../database/sharedDatabase.js";
import { PARTITIONS_LOCK } from "./createDays.js";

/** A statement gives way when it waits this long for another session. */
const LOCK_TIMEOUT = "2s";

/** Runs work on the partitions of outcomes, which may take long, unless another session does such work. */
export async function withPartitionsLock(
  { pool }: { readonly pool: Pool },
  signal: AbortSignal,
  run: (db: PooledConnection) => Promise<void>,
): Promise<void> {
  const lock = advisoryLock(pool, PARTITIONS_LOCK);
  await doLongWork({ pool }, signal, async (db) => {
    const { rows } = await db.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [lock]);
    if (rows[0]?.locked !== true) return;
    await db.query(`set lock_timeout = '${LOCK_TIMEOUT}'`);
    await run(db);
    await db.query("reset lock_timeout");
    await db.query("select pg_advisory_unlock($1)", [lock]);
  });
}
