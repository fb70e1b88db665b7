import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { openStore, type Store } from "../../src/store/store.js";
import { silent } from "./postgresNode.js";
import { type Reach, TestDatabases } from "./testDatabases.js";

/**
 * Gives the calling file or block databases of its own in the PostgreSQL of the run, and drops them after the tests.
 */
export function useTestPostgres(reach?: Reach): TestDatabases {
  const databases = new TestDatabases(reach);
  afterAll(() => databases.end());
  return databases;
}

/** The tables that a new store has rows in. */
const KEPT = "'migrations', 'database_servers', 'finished_range', 'finished_days'";
const EMPTY = `
  begin;
  set local session_replication_role = replica;
  do $$ declare name text; begin
    for name in select relname from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition and relname not in (${KEPT})
    loop execute format('delete from %I', name); end loop;
  end $$;
  commit`;

/**
 * Opens a store that has nothing in it: one that is emptied before each test (`emptied`), a new one before each test (`perTest`), or one
 * for all tests of the file or block (`shared`). The store closes after the hooks that the test file registers later.
 * @param prepare receives the store that has nothing in it; its promise is awaited before a test runs.
 */
export function useTestStore(
  lifetime: "emptied" | "perTest" | "shared",
  prepare: (store: Store, databaseUrl: string) => unknown,
  reach?: Reach,
): TestDatabases {
  const databases = useTestPostgres(reach);
  let databaseUrl = "";
  let store: Store | undefined;
  const open = async () => {
    databaseUrl = await databases.createDatabase();
    // Tests run many queries at the same time on the connections for administration.
    store = await openStore({ databaseUrl, adminConnections: 10 }, silent);
    return store;
  };
  const openPrepared = async () => void (await prepare(await open(), databaseUrl));
  const close = async () => {
    await store?.close();
  };
  if (lifetime === "perTest") {
    beforeEach(openPrepared);
    afterEach(close);
  } else {
    beforeAll(lifetime === "shared" ? openPrepared : async () => void (await open()));
    afterAll(close);
  }
  if (lifetime === "emptied") {
    beforeEach(async () => {
      if (store === undefined) throw new Error("the store is not open");
      await store.pool.query(EMPTY);
      await prepare(store, databaseUrl);
    });
  }
  return databases;
}
