import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { createHeldLane, newSubmissionOf } from "../../test/support/submissions.js";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import { accept } from "./accept/accept.js";
import { Pool } from "./database/database.js";
import { doLongWork } from "./database/transaction.js";
import { readServerFacts } from "./primary/facts.js";
import { prepareSession } from "./primary/session.js";
import { openStore, type Store } from "./store.js";
import { saveFailed } from "./transitions/saveFailed.js";
import { vacuumUnfinished } from "./vacuum.js";

const { signal } = new AbortController();
let store: Store;
let databaseUrl = "";
const databases = useTestStore("shared", (opened, url) => {
  store = opened;
  databaseUrl = url;
});

it("vacuums unfinished rows as soon as many of them are dead, and tells that an open transaction keeps them", async () => {
  const lane = await createHeldLane(store);
  const newSubmissions = Array.from({ length: 30 }, (_, i) => newSubmissionOf(i + 1));
  await accept(store, { chain: lane.chain, origin: randomUUID() }, newSubmissions);
  const reader = await store.pool.connect();
  await reader.query("begin isolation level repeatable read; select from unfinished");
  const failed = newSubmissions.map(({ id }) => ({
    id,
    reason: "NODE_REFUSED" as const,
    message: "no",
    condition: "always" as const,
  }));
  await saveFailed(store, lane, failed);
  // PostgreSQL counts dead rows a moment later, unless a session asks for it.
  await store.pool.query("select pg_stat_force_next_flush()");
  expect(await vacuumUnfinished(store, signal, 31)).toBe("none");
  expect(await vacuumUnfinished(store, signal, 30)).toBe("kept");
  await reader.query("commit");
  reader.release();
  expect(await vacuumUnfinished(store, signal, 30)).toBe("removed");
  expect(await vacuumUnfinished(store, signal, 1)).toBe("none");
});

it("names no trouble of the store where the connection of maintenance is at other long work", async () => {
  const opened = await openStore({ databaseUrl }, silent);
  const maintenance = opened.forRole("maintenance");
  const other = await maintenance.pool.connect();
  await expect(vacuumUnfinished(maintenance, signal)).rejects.toThrow("timeout exceeded");
  expect(opened.monitor.trouble).toBeUndefined();
  other.release();
  await opened.close();
});

it("may take longer than other statements, and ends with the service", async () => {
  const name = new URL(databaseUrl).pathname.slice(1);
  await databases.query(`alter database ${name} set vacuum_cost_delay = '100ms'`);
  await databases.query(`alter database ${name} set vacuum_cost_limit = 1`);
  const pool = new Pool({
    ...{ connectionString: databaseUrl, maxConnections: 1, answerTimeoutMs: 50 },
    prepare: prepareSession,
  });
  expect(await vacuumUnfinished({ pool }, signal, 0)).not.toBe("none");
  await store.pool.query(
    "insert into cap_outcomes select 'k', '2030-01-01', '', 1, 1 from generate_series(1, 100000)",
  );
  const closing = new AbortController();
  const vacuum = doLongWork({ pool }, closing.signal, (db) => db.query("vacuum cap_outcomes"));
  const running = "select from pg_stat_activity where query = 'vacuum cap_outcomes' and state = 'active'";
  while ((await store.pool.query(running)).rows.length === 0);
  // It keeps no dead row of others, so it is not among the transactions that are too old.
  const progress = "select from pg_stat_progress_vacuum";
  while ((await store.pool.query(progress)).rows.length === 0);
  expect((await readServerFacts(store.pool)).oldestTransactionMs).toBe(0);
  closing.abort();
  await expect(vacuum).rejects.toThrow();
  while ((await store.pool.query(running)).rows.length > 0);
  await pool.end();
});
