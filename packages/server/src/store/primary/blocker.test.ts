import { type Logger, pino } from "pino";
import { afterEach, expect, it } from "vitest";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { createConnection } from "../database/database.js";
import { openStore } from "../store.js";

const databases = useTestPostgres("tcp");
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Opens a store, and a connection of another program to its database. */
async function open(log: Logger) {
  const databaseUrl = await databases.createDatabase();
  const store = await openStore({ databaseUrl }, log);
  closers.push(() => store.close());
  const colleague = createConnection({ connectionString: databaseUrl, applicationName: "report" });
  closers.push(() => colleague.end());
  await colleague.connect();
  return { store, colleague };
}

it("names the session of another program whose lock the service waits for, and its end", async () => {
  const records: { msg: string; blocker?: { statement: string; application: string } }[] = [];
  const log = pino({ base: null }, { write: (line: string) => void records.push(JSON.parse(line)) });
  const { store, colleague } = await open(log);
  await colleague.query("begin; lock table unfinished in access exclusive mode");
  const reading = store.forRole("reading").pool.query("select from unfinished");
  while (store.monitor.blockedMs === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(records.find(({ blocker }) => blocker)?.blocker).toMatchObject({
    application: "report",
    statement: "begin; lock table unfinished in access exclusive mode",
  });
  await colleague.query("rollback");
  await reading;
  while (store.monitor.blockedMs > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(records.at(-1)?.msg).toBe("the store waits for no other program's lock any more");
});

it("names a session that has locked a lane's row, for which no statement waits, because leases pass over it", async () => {
  const { store, colleague } = await open(pino({ level: "silent" }));
  await colleague.query("begin; select from lanes for update");
  while (store.monitor.blockedMs === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  await colleague.query("rollback");
  while (store.monitor.blockedMs > 0) await new Promise((resolve) => setTimeout(resolve, 50));
});

it("is the name of the trouble where a statement gets no answer for it", async () => {
  const { store, colleague } = await open(pino({ level: "silent" }));
  await colleague.query("begin; lock table unfinished in access exclusive mode");
  const reading = store.forRole("reading").pool.query("select from unfinished");
  await expect(reading).rejects.toMatchObject({ trouble: { kind: "blocked" } });
});

it.each(["lock table unfinished in access exclusive mode", "lock table lanes in row share mode"])(
  "names a prepared transaction, which belongs to no session: %s",
  async (lock) => {
    const { store, colleague } = await open(pino({ level: "silent" }));
    await colleague.query(`begin; ${lock}; prepare transaction 'forgotten'`);
    const reading = store.forRole("reading").pool.query("select from unfinished");
    try {
      while (store.monitor.blockedMs === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await colleague.query("rollback prepared 'forgotten'");
      await reading;
    }
  },
);
