import { once } from "node:events";
import pg from "pg";

/** Tells of every statement that writes lanes or submissions. */
const TRIGGERS = ["lanes", "unfinished", "finished"].map(
  (table) => `create or replace trigger told_to_tests after insert or update on ${table}
    for each statement execute function tell_tests()`,
);
const FUNCTION = `create or replace function tell_tests() returns trigger language plpgsql as
  $$ begin notify told_to_tests; return null; end $$`;

/**
 * Statement by statement: whoever waits for one table's lock holds no other, so that no write of the service can wait for
 * it in a circle. And one after the other: two at once cannot replace the same function.
 */
const PREPARE = ["select pg_advisory_lock(4711)", FUNCTION, ...TRIGGERS, "select pg_advisory_unlock(4711)"];

/** Resolves with the rows of the query as soon as it has any: looked at now, and after every write of the service. */
export async function storeUntil<T extends pg.QueryResultRow>(
  databaseUrl: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<T[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query("listen told_to_tests");
    for (const statement of PREPARE) await client.query(statement);
    for (;;) {
      const told = once(client, "notification");
      const { rows } = await client.query<T>(sql, [...parameters]);
      if (rows.length > 0) return rows;
      await told;
    }
  } finally {
    await client.end();
  }
}
