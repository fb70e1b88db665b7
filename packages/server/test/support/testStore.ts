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

/**
 * Opens a store that has nothing in it: a new one before each test (`perTest`), or one for all tests of the file or block
 * (`shared`). The store closes after the hooks that the test file registers later.
 * @param prepare receives the open store; its promise is awaited before a test runs.
 */
export function useTestStore(
  lifetime: "perTest" | "shared",
  prepare: (store: Store, databaseUrl: string) => unknown,
  reach?: Reach,
): TestDatabases {
  const databases = useTestPostgres(reach);
  let store: Store | undefined;
  const open = async () => {
    const databaseUrl = await databases.createDatabase();
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
  return databases;
}
