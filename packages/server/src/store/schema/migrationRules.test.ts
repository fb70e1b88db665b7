import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { describeSchema } from "../../../test/support/describeSchema.js";
import { nextSchema } from "../../../test/support/nextSchema.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestPostgres } from "../../../test/support/testStore.js";
import { Pool } from "../database/database.js";
import { migrate, readSchemaFiles, type SchemaFiles } from "./migrate.js";

const INDEX =
  /\bcreate\s+(?:unique\s+)?index\b(?:\s+(?:if\s+not\s+exists\s+)?\w+)?\s+on\s+(?:only\s+)?(\w+)/gi;
const TABLE = /\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(\w+)/gi;
const REWRITING = /\b(?:reindex|cluster|vacuum\s+full|alter\s+column\s+\w+\s+(?:set\s+data\s+)?type)\b/gi;
const CHECKED =
  /\b(?:add\s+(?:constraint\s+\w+\s+)?(?:check|unique|primary\s+key|foreign\s+key)|set\s+not\s+null)\b(?![^;]*\bnot\s+valid\b)/gi;

/** Finds what would keep writers out of a table with rows for as long as it takes to read them. */
function longLocks(migration: string): string[] {
  const sql = migration.replace(/--.*$/gm, "");
  const made = new Set(Array.from(sql.matchAll(TABLE), ([, table]) => table));
  const indexed = Array.from(sql.matchAll(INDEX)).filter(([, table]) => !made.has(table));
  return [...indexed, ...sql.matchAll(REWRITING), ...sql.matchAll(CHECKED)].map(([statement]) => statement);
}

describe("a migration", () => {
  it("locks no table for as long as it takes to read it", async () => {
    const { migrations } = await readSchemaFiles();
    const found = migrations.map(({ number, parts }) => [number, longLocks(parts.join("\n"))]);
    expect(found).toEqual(migrations.map(({ number }) => [number, []]));
  });

  it.each([
    ["create unique index if not exists by_name on things (name);", 1],
    ["create index on things (name)", 1],
    ["create table other (id integer);\ncreate index by_name on things (name);", 1],
    ["create table if not exists things (name text);\ncreate index by_name on things (name);", 0],
    ["-- create index by_name on things (name)\nalter table things add column name text;", 0],
    ["alter table things alter column name type bigint", 1],
    ["alter table things alter column name set not null", 1],
    ["alter table things add constraint positive check (id > 0)", 1],
    ["alter table things add constraint positive check (id > 0) not valid", 0],
  ])("of %j the rule refuses %i statement(s)", (sql, count) => {
    expect(longLocks(sql)).toHaveLength(count);
  });
});

/**
 * The baseline of version 0.1.0. It comes with the first migration, before the baseline changes:
 * `find packages/server/migrations/baseline -name '*.sql' | sort | xargs cat > packages/server/test/firstBaseline.sql`.
 */
const FIRST_BASELINE = new URL("../../../test/firstBaseline.sql", import.meta.url);

/** A change of each kind of object. */
const CHANGES = [
  "alter table unfinished add column remark text",
  "create index unfinished_remark on unfinished (selector)",
  "alter table unfinished set (fillfactor = 30)",
  "grant select on finished to public",
  "create or replace function first_id_of(the_day date) returns uuid language sql as 'select null::uuid'",
  "alter type lane_state add value 'resting'",
  "alter table lanes add constraint epoch_check check (epoch >= 0) not valid",
  "alter table lanes alter column reason set default 'none'",
  "create or replace view refusals as select * from refusals_0",
  "drop trigger settle_cap on unfinished",
];

describe("an upgraded store", () => {
  const databases = useTestPostgres();

  /** Describes a store that was made by the first of these, and then upgraded by the others. */
  async function storeOf(...versions: SchemaFiles[]) {
    const pool = new Pool({ connectionString: await databases.createEmptyDatabase(), maxConnections: 1 });
    try {
      for (const files of versions) await migrate(pool, silent, { files });
      return await describeSchema(pool);
    } finally {
      await pool.end();
    }
  }

  it("is what a fresh one is", async () => {
    const files = await readSchemaFiles();
    const isFirst = files.migrations.length === 0;
    expect(existsSync(FIRST_BASELINE), "the baseline of 0.1.0 is kept from the first migration on").toBe(
      !isFirst,
    );
    const baseline = isFirst ? files.baseline : readFileSync(FIRST_BASELINE, "utf8");
    expect(await storeOf({ baseline, migrations: [], number: 1 }, files)).toEqual(await storeOf(files));
  });

  it("is what a fresh one is where the baseline has what a migration did, and only there", async () => {
    const [before, next] = [await readSchemaFiles(), await nextSchema(...CHANGES)];
    const upgraded = await storeOf(before, next);
    expect(upgraded).toEqual(await storeOf({ ...next, baseline: [next.baseline, ...CHANGES].join(";") }));
    const fresh = await storeOf(next);
    for (const kind of Object.keys(fresh)) expect(upgraded[kind], kind).not.toEqual(fresh[kind]);
  });
});
