// A store that logical replication has copied, as for an upgrade of PostgreSQL to its next version: rows, and nothing else.
import { expect, it } from "vitest";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { recordEvent } from "../audit/audit.js";
import { adoptChain } from "../chains.js";
import { openStore, type Store } from "../store.js";

const databases = useTestPostgres();
const EVENT = { actor: "test", action: "read-secrets", changes: {} } as const;

async function onStore<T>(databaseUrl: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore({ databaseUrl }, silent);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const chainOf = (chainId: number) => ({ chainId, genesisHash: new Uint8Array(32).fill(chainId) });
const allRows =
  "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')";

it("goes on where the other one was: it makes the partitions that its copy lacks, and no number comes twice", async () => {
  const [from, to] = [await databases.createDatabase(), await databases.createDatabase()];
  const copied = await onStore(from, async (store) => {
    for (let i = 0; i < 3; i++) await recordEvent(store.pool, EVENT);
    await adoptChain(store, chainOf(1));
    const rows = "select json_agg(t) as rows from";
    const names = ["audit", "chains", "finished_days", "finished_range", "database_servers"];
    return Promise.all(
      names.map(async (name) => [name, (await store.pool.query(`${rows} ${name} t`)).rows[0]?.rows] as const),
    );
  });
  // Its tables are those of two days ago.
  const last = await onStore(to, async ({ pool }) => {
    const { rows } = await pool.query<{ partition: string }>(
      "select partition from finished_days order by day desc limit 2",
    );
    for (const { partition } of rows) await pool.query(`drop table ${partition}`);
    for (const [name, some] of copied) {
      await pool.query(
        `begin; set local session_replication_role = replica; delete from ${name};
         insert into ${name} select * from json_populate_recordset(null::${name}, '${JSON.stringify(some)}'); commit`,
      );
    }
    return rows;
  });
  await onStore(to, async (store) => {
    const { rows } = await store.pool.query("select inhrelid::regclass::text as partition from pg_inherits");
    expect(rows).toEqual(expect.arrayContaining(last));
    await recordEvent(store.pool, EVENT);
    expect(await adoptChain(store, chainOf(2))).toBe(2);
    expect((await store.pool.query("select max(id)::int as last from audit")).rows).toEqual([{ last: 4 }]);
  });
});

it("can be published: each logged table has what tells its rows apart, and none has a sequence", () =>
  databases.createDatabase().then((databaseUrl) =>
    onStore(databaseUrl, async ({ pool }) => {
      const { rows } = await pool.query(
        `${allRows} and relpersistence = 'p' and relkind = 'r' and relreplident <> 'f'
           and not exists (select from pg_index i where i.indrelid = pg_class.oid and i.indisprimary)
         union all select sequencename from pg_sequences`,
      );
      expect(rows).toEqual([]);
    }),
  ));
