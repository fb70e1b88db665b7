import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { openAudit } from "../../admin/openAudit.js";
import { createConnection } from "../database/database.js";
import { inTransaction } from "../database/transaction.js";
import { openStore, type Store } from "../store.js";
import { auditEntries, auditEntriesAfter, recordEvent } from "./audit.js";

const databases = useTestPostgres();
let databaseUrl = "";
let store: Store;
beforeAll(async () => {
  databaseUrl = await databases.createDatabase();
  store = await openStore({ databaseUrl, adminConnections: 10 }, silent);
});
afterAll(() => store.close());

const event = (name: string) => ({ actor: name, action: "read-secrets", changes: {} }) as const;
const actorsOf = (entries: readonly { readonly actor: string }[]) => entries.map(({ actor }) => actor);

describe("the audit", () => {
  it("has its entries in the order of their commits, so that whoever follows it misses none", async () => {
    const [{ id: start = "0" } = {}] = await auditEntries(store, { limit: 1 });
    let second: Promise<void> | undefined;
    await inTransaction(store, async (db) => {
      await recordEvent(db, event("first"));
      second = recordEvent(store.pool, event("second"));
      const isWaiting = "select from pg_locks where locktype = 'advisory' and not granted";
      while ((await db.query(isWaiting)).rowCount === 0);
      expect(await auditEntriesAfter(store, start, 10)).toEqual([]);
    });
    await second;
    expect(actorsOf(await auditEntriesAfter(store, start, 10))).toEqual(["first", "second"]);
  });

  it("is followed from an id, with each entry once while many sessions write", async () => {
    const [{ id: start = "0" } = {}] = await auditEntries(store, { limit: 1 });
    const names = Array.from({ length: 60 }, (_, i) => `writer ${i}`);
    const audit = await openAudit({ databaseUrl });
    const ending = new AbortController();
    const writes = Promise.all(names.map((name) => recordEvent(store.pool, event(name))));
    const seen: string[] = [];
    for await (const { actor } of audit.follow(start, ending.signal)) {
      if (seen.push(actor) === names.length) ending.abort();
    }
    await writes;
    await audit.close();
    expect([...seen].sort()).toEqual([...names].sort());
  });

  it.each(["update audit set actor = 'x'", "delete from audit", "truncate audit"])(
    "refuses its owner: %s",
    async (sql) => {
      await recordEvent(store.pool, event("kept"));
      await expect(store.pool.query(sql)).rejects.toThrow("audit only grows");
    },
  );
});

describe("the audit with an owner of its own, as the hardening guide sets it up", () => {
  const guide = readFileSync(new URL("../../../../../docs/guides/hardening.md", import.meta.url), "utf8");
  const [, statements = ""] = /```sql\n([^`]*gas_waiver_audit[^`]*)```/.exec(guide) ?? [];

  it("takes entries from the service, whose role can change, remove or replace nothing", async () => {
    const url = await databases.createEmptyDatabase();
    const superuser = createConnection({ connectionString: url });
    await superuser.connect();
    // The guide's role of the service has the name of this server's superuser.
    const role = "gas_waiver_of_the_guide";
    await superuser.query(`create role ${role} login; grant usage, create on schema public to ${role}`);
    const asService = url.replace("gas_waiver@", `${role}@`);
    const first = await openStore({ databaseUrl: asService }, silent);
    await first.close();
    await superuser.query(statements.replaceAll(/\bgas_waiver\b/g, role));
    const service = await openStore({ databaseUrl: asService }, silent);
    await recordEvent(service.pool, event("service"));
    expect(actorsOf(await auditEntries(service, { limit: 10 }))).toEqual(["service"]);
    for (const sql of [
      "update audit set actor = 'nobody'",
      "delete from audit",
      "truncate audit",
      "drop table audit cascade",
      "alter table audit disable trigger all",
      "drop trigger audit_only_grows on audit",
      "create or replace function refuse_change() returns trigger language plpgsql as 'begin return null; end'",
    ]) {
      await expect(service.pool.query(sql), sql).rejects.toThrow(/permission denied|must be owner/);
    }
    await service.close();
    await superuser.end();
  });
});
