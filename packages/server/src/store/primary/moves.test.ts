import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { DatabaseClock } from "../clock/databaseClock.js";
import { createConnection, type Queryable } from "../database/database.js";
import { openStore } from "../store.js";
import { createStoreMoves } from "./moves.js";

const clock = new DatabaseClock();
const databases = useTestPostgres();
const warnings: string[] = [];
const log = pino({ level: "warn" }, { write: (line: string) => warnings.push(JSON.parse(line).msg) });
let db: ReturnType<typeof createConnection>;
beforeEach(async () => {
  const databaseUrl = await databases.createDatabase();
  await (await openStore({ databaseUrl }, silent)).close();
  db = createConnection({ connectionString: databaseUrl });
  await db.connect();
  await db.query("drop role if exists app");
  await db.query("create role app; grant all on all tables in schema public to app");
  warnings.length = 0;
});
afterEach(async () => {
  await db.query("reset role; drop owned by app; drop role app");
  await db.end();
});

const moves = () => createStoreMoves(db as Queryable, log, clock);
/** The store has come from another timeline, as long ago as this. */
const moveAgo = (time: string) =>
  db.query(
    `reset role; update database_servers set first_seen = now() - interval '${time}';
     insert into database_servers (system, timeline, first_seen) select system, 0, now() - interval '1 year' from database_servers
     on conflict do nothing`,
  );
/** Goes on as a role that may not call these functions. */
const forbid = (...functions: string[]) =>
  db.query(
    `${functions.map((name) => `revoke execute on function ${name} from public;`).join(" ")} set role app`,
  );

describe("a store", () => {
  it("has moved for an hour after it came to another server or timeline, and not on its first server", async () => {
    expect(await moves().hasMoved()).toBe(false);
    await moveAgo("59 minutes");
    expect(await moves().hasMoved()).toBe(true);
    await moveAgo("61 minutes");
    expect(await moves().hasMoved()).toBe(false);
  });

  it("has moved lately also where the database's clock was set an hour forwards since", async () => {
    await moveAgo("61 minutes");
    expect(await moves().hasMoved()).toBe(false);
    const watched = new DatabaseClock();
    watched.note(new Date(Date.now() - 3_600_000));
    expect(await createStoreMoves(db as Queryable, log, watched).hasMoved()).toBe(true);
  });

  it("lets nothing fail for what it may lack until the chain has had twenty blocks after a move", async () => {
    const known = moves();
    const heights = [10n, 29n, 30n];
    expect(await known.isChainPastMove(() => Promise.reject(new Error("not asked")))).toBe(true);
    await moveAgo("1 minute");
    const answers = [];
    for (const height of heights) answers.push(await known.isChainPastMove(async () => height));
    expect(answers).toEqual([false, false, true]);
    await db.query("update database_servers set first_seen = now() where timeline <> 0");
    expect(await known.isChainPastMove(async () => 31n), "after another move").toBe(false);
  });

  it("is known by its timeline where the role may not see the identity of the server", async () => {
    await forbid("pg_control_system()");
    const known = moves();
    expect(await known.hasMoved()).toBe(false);
    await moveAgo("1 minute");
    await db.query("set role app");
    expect(await known.hasMoved()).toBe(true);
    expect(warnings).toEqual([]);
  });

  it("is not known to have moved where the role may see neither, and the log says so once", async () => {
    await forbid("pg_control_system()", "pg_current_wal_lsn()");
    const known = moves();
    expect([await known.hasMoved(), await known.hasMoved()]).toEqual([false, false]);
    expect(warnings).toEqual([expect.stringMatching(/may not see the database's timeline.*grant execute/)]);
  });

  it("has moved also where the role was denied the store's tables for a while", async () => {
    await db.query("revoke all on database_servers from app; set role app");
    const known = moves();
    await expect(known.hasMoved()).rejects.toMatchObject({ trouble: { kind: "rights" } });
    await db.query("reset role; grant all on database_servers to app; grant pg_monitor to app");
    await moveAgo("1 minute");
    await db.query("set role app");
    expect(await known.hasMoved()).toBe(true);
    expect(warnings).toEqual([]);
  });

  it("is asked once for all who take an answer of some age", async () => {
    let queries = 0;
    const query = ((...args: [never]) => {
      queries++;
      return db.query(...args);
    }) as Queryable["query"];
    const counted = createStoreMoves({ query }, log, clock);
    await Promise.all(Array.from({ length: 20 }, () => counted.hasMoved(60_000)));
    const once = queries;
    await counted.hasMoved(60_000);
    expect(queries).toBe(once);
    await counted.hasMoved();
    expect(queries).toBe(2 * once);
  });
});
