import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { deferred } from "../../../test/support/deferred.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { auditEntries, recordEvent } from "../audit/audit.js";
import { adoptChain, lastChain } from "../chains.js";
import { inKeyTransaction, keysChannel } from "../keys/apiKeys.js";
import { reloadChannel } from "../lanes/replicas.js";
import { withPartitionsLock } from "../outcomes/outcomeDays.js";
import { type OpenStore, openDatabase, openRunningStore, openStore } from "../store.js";
import { createConnection } from "./database.js";
import { listen } from "./notifications.js";
import { advisoryLock } from "./sharedDatabase.js";
import { inTransaction } from "./transaction.js";

const databases = useTestPostgres();
const SCHEMAS = ["gas_waiver_first", "gas_waiver_second"];
let databaseUrl = "";
let stores: OpenStore[] = [];

beforeAll(async () => {
  databaseUrl = await databases.createEmptyDatabase();
  // All at once, as the networks of a service start.
  stores = await Promise.all([...SCHEMAS, undefined].map((schema) => open(schema)));
});
afterAll(async () => {
  for (const store of stores) await store.close();
});

it("keeps the tables of stores in other schemas apart, each with every migration", async () => {
  for (const [i, store] of stores.entries())
    await adoptChain(store, { chainId: 100 + i, genesisHash: new Uint8Array(32).fill(1) });
  const last = await Promise.all(stores.map((store) => lastChain(store)));
  expect(last.map((chain) => chain?.identity.chainId)).toEqual([100, 101, 102]);
  const { rows } = await third().pool.query<{ schema: string; tables: number }>(
    `select n.nspname as schema, count(*)::int as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'v') and n.nspname in ('public', '${SCHEMAS.join("', '")}') group by 1 order by 1`,
  );
  expect(rows.map(({ schema }) => schema)).toEqual([...SCHEMAS, "public"]);
  expect(new Set(rows.map(({ tables }) => tables)).size).toBe(1);
});

it("names channels that PostgreSQL takes with the longest name of a schema", () => {
  const pool = { schema: "s".repeat(47) };
  for (const channel of [keysChannel(pool), reloadChannel(pool)]) expect(channel.length).toBeLessThan(64);
});

it("lets one store work on its partitions while another does, and none of the same schema", async () => {
  const [first, second] = stores as [OpenStore, OpenStore];
  const again = await open(SCHEMAS[0]);
  const begun = deferred<void>();
  const end = deferred<void>();
  const { signal } = new AbortController();
  const long = withPartitionsLock(first, signal, async () => {
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  const got: string[] = [];
  await withPartitionsLock(second, signal, async () => void got.push("another schema"));
  await withPartitionsLock(again, signal, async () => void got.push("the same schema"));
  end.resolve();
  await long;
  await again.close();
  expect(got).toEqual(["another schema"]);
});

it("adds to the audit of one store while an entry of another has not been committed", async () => {
  const [first, second] = stores as [OpenStore, OpenStore];
  const event = { actor: "operator", action: "create", changes: {} } as const;
  await inTransaction(first, async (db) => {
    await recordEvent(db, event);
    // With one lock for both, this waited until the database ended the other transaction.
    await recordEvent(second.pool, event);
  });
  for (const store of [first, second])
    expect(await auditEntries(store, { limit: 1 })).toMatchObject([{ actor: "operator" }]);
});

it("tells changes of keys to the replicas of the same store alone", async () => {
  const [first, second] = stores as [OpenStore, OpenStore];
  const heard: string[] = [];
  const listening = [first, second, third()].map((store, i) => {
    const ready = deferred<void>();
    const once = deferred<void>();
    const listener = listen(
      store,
      [keysChannel(store.pool)],
      {
        onListening: ready.resolve,
        onNotification: () => {
          heard.push(`store ${i}`);
          once.resolve();
        },
      },
      silent,
    );
    return { ready: ready.promise, once: once.promise, listener };
  });
  await Promise.all(listening.map(({ ready }) => ready));
  await inKeyTransaction(second, async () => {});
  await listening[1]?.once;
  await inKeyTransaction(third(), async () => {});
  await listening[2]?.once;
  await inKeyTransaction(first, async () => {});
  await listening[0]?.once;
  expect(heard).toEqual(["store 1", "store 2", "store 0"]);
  for (const { listener } of listening) await listener.close();
});

it("has one store's locks and channels for replicas that name its schema, and for those whose search path leads there", async () => {
  const url = await databases.createEmptyDatabase();
  const name = new URL(url).pathname.slice(1);
  const connection = createConnection({ connectionString: url });
  await connection.connect();
  await connection.query(`create schema app; alter database ${name} set search_path = app`);
  await connection.end();
  const two = [
    await openStore({ databaseUrl: url }, silent),
    await openStore({ databaseUrl: url, schema: "app" }, silent),
  ];
  const names = two.flatMap(({ forRole }) =>
    (["administration", "maintenance"] as const).map((role) => {
      const { pool } = forRole(role);
      return `${advisoryLock(pool, 5)} ${keysChannel(pool)}`;
    }),
  );
  for (const store of two) await store.close();
  expect(new Set(names).size).toBe(1);
});

it("has the locks of a store without a named schema in the schema public, for replicas of both forms", () => {
  expect(advisoryLock({}, 5)).toBe("5");
  expect(advisoryLock({ schema: "public" }, 5)).toBe("5");
  expect(advisoryLock({ schema: "gas_waiver_first" }, 5)).not.toBe("5");
});

it("refuses a schema that it may not make, with the remedy, and uses one that was made for it", async () => {
  const superuser = createConnection({ connectionString: databaseUrl });
  await superuser.connect();
  await superuser.query("create role keeper login");
  const asKeeper = databaseUrl.replace("gas_waiver@", "keeper@");
  const opened = openStore({ databaseUrl: asKeeper, schema: "kept" }, silent);
  await expect(opened).rejects.toThrow(/may not make the schema kept.*create schema kept authorization/);
  await superuser.query("create schema kept authorization keeper");
  await (await openStore({ databaseUrl: asKeeper, schema: "kept" }, silent)).close();
  await (await openRunningStore({ databaseUrl: asKeeper, schema: "kept" }, silent)).close();
  await superuser.end();
});

it("makes no schema for a command that names one which is not there", async () => {
  const opened = openRunningStore({ databaseUrl, schema: "mistyped" }, silent);
  await expect(opened).rejects.toThrow("the database has no schema mistyped");
});

it("has connections for all stores, if it is embedded", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "gas-waiver-test-"));
  const database = await openDatabase({ dataDir }, silent, undefined, 3);
  const connection = createConnection(database.address);
  await connection.connect();
  const { rows } = await connection.query<{ max_connections: string }>("show max_connections");
  await connection.end();
  await database.stop();
  await rm(dataDir, { recursive: true });
  expect(Number(rows[0]?.max_connections)).toBe(120);
});

function open(schema: string | undefined): Promise<OpenStore> {
  return openStore({ databaseUrl, adminConnections: 4, ...(schema !== undefined && { schema }) }, silent);
}

function third(): OpenStore {
  return stores[2] as OpenStore;
}
