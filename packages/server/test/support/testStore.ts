import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { openStore, type Store } from "../../src/store/store.js";
import { silent, TestPostgres } from "./testPostgres.js";

/** Runs a PostgreSQL for the tests of the file or block that calls it. It serves from `beforeAll` to `afterAll`. */
export function useTestPostgres(): TestPostgres {
  const postgres = new TestPostgres();
  beforeAll(() => postgres.start());
  afterAll(() => postgres.end());
  return postgres;
}

/**
 * Runs a PostgreSQL for the file or block, and opens a store that has nothing in it: a new one before each test
 * (`perTest`), or one for all tests of the block (`shared`). The store closes after the hooks that the test file
 * registers later.
 * @param prepare receives the open store; its promise is awaited before a test runs.
 */
export function useTestStore(
  lifetime: "perTest" | "shared",
  prepare: (store: Store, databaseUrl: string) => unknown,
): TestPostgres {
  const postgres = useTestPostgres();
  let store: Store | undefined;
  const open = async () => {
    const databaseUrl = await postgres.createDatabase();
    // Tests run many queries at the same time on the connections for administration.
    store = await openStore({ databaseUrl, adminConnections: 10 }, silent);
    await prepare(store, databaseUrl);
  };
  const close = async () => {
    await store?.close();
  };
  if (lifetime === "shared") {
    beforeAll(open);
    afterAll(close);
  } else {
    beforeEach(open);
    afterEach(close);
  }
  return postgres;
}
