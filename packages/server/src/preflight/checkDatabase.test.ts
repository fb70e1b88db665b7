import { describe, expect, it } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { useTestPostgres } from "../../test/support/testStore.js";
import { Pool } from "../store/database/database.js";
import { migrate } from "../store/schema/migrate.js";
import { checkDatabase } from "./checkDatabase.js";

const databases = useTestPostgres();

const foundFor = async (databaseUrl: string) => {
  const requirements = { requireSynchronousStandby: false, connections: 1 };
  const findings = await checkDatabase({ databaseUrl }, requirements);
  return findings.find(({ check }) => check === "connections")?.found;
};

describe("the check of a database", () => {
  it("finds version, rights, durability and clock as they are, and refuses what a start would refuse", async () => {
    const databaseUrl = await databases.createEmptyDatabase();
    const check = async (requireSynchronousStandby = false) => {
      const findings = await checkDatabase({ databaseUrl }, { requireSynchronousStandby });
      // The first finding of a subject weighs most.
      return new Map(findings.reverse().map(({ check, verdict, found }) => [check, `${verdict}: ${found}`]));
    };
    const fresh = await check();
    expect(fresh.get("version")).toMatch(/^ok: PostgreSQL \d+\.\d+$/);
    expect(fresh.get("schema")).toBe("ok: there is no store yet; the start makes it");
    expect(fresh.get("rights")).toMatch(/^ok: /);
    expect(fresh.get("clock")).toMatch(/^ok: \d+ ms from this machine's$/);
    expect((await check(true)).get("durability")).toMatch(/^refuses: the store has no synchronous standby/);

    const pool = new Pool({ connectionString: databaseUrl, maxConnections: 1 });
    try {
      await migrate(pool, silent);
      expect((await check()).get("schema")).toMatch(/^ok: number \d+, as this program$/);
      await pool.query("create schema authorization current_user");
      expect((await check()).get("schema")).toMatch(/^refuses: the store is in the schema public, and /);
      await pool.query("drop schema gas_waiver");
      await pool.query("insert into migrations (number) values (999999)");
    } finally {
      await pool.end();
    }
    expect((await check()).get("schema")).toMatch(/^refuses: number 999999; this program knows \d+$/);
  });

  it("compares the connections of a replica with those that the role may have", async () => {
    const databaseUrl = await databases.createEmptyDatabase();
    const verdictFor = async (connections: number) => {
      const findings = await checkDatabase(
        { databaseUrl },
        { requireSynchronousStandby: false, connections },
      );
      return findings.find(({ check }) => check === "connections")?.verdict;
    };
    const most = Number(/^\d+/.exec((await foundFor(databaseUrl)) ?? "")?.[0]);
    expect([await verdictFor(most + 1), await verdictFor(most), await verdictFor(1)]).toEqual([
      "refuses",
      "warning",
      "ok",
    ]);
  });

  it("names the limit that is the least", async () => {
    const databaseUrl = await databases.createEmptyDatabase();
    const name = new URL(databaseUrl).pathname.slice(1);
    const remedyAfter = async (change: string) => {
      await databases.query(change);
      const requirements = { requireSynchronousStandby: false, connections: 50 };
      const findings = await checkDatabase({ databaseUrl }, requirements);
      return findings.find(({ check }) => check === "connections")?.remedy;
    };
    expect(await remedyAfter(`alter database ${name} connection limit 40`)).toContain("datconnlimit");
  });

  it("says in one finding that nothing answers", async () => {
    const findings = await checkDatabase(
      { databaseUrl: "postgres://user:hidden-password@127.0.0.1:1/relay" },
      { requireSynchronousStandby: false },
    );
    expect(findings).toEqual([expect.objectContaining({ check: "answers", verdict: "refuses" })]);
    expect(JSON.stringify(findings)).not.toContain("hidden-password");
  });
});
