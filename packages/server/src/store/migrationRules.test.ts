import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const FOLDER = new URL("../../migrations/", import.meta.url);
/** Migrations that were made before the rule. A migration never changes. */
const LAST_WITHOUT_RULE = 28;

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

it("migrations lock no table of an earlier version for as long as it takes to read it", () => {
  const files = readdirSync(FOLDER).filter((name) => Number.parseInt(name, 10) > LAST_WITHOUT_RULE);
  expect(files.length).toBeGreaterThan(0);
  const found = files.map((name) => [name, longLocks(readFileSync(new URL(name, FOLDER), "utf8"))]);
  expect(found).toEqual(files.map((name) => [name, []]));
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

it("refuses the migration that built an index of unfinished submissions in a transaction", () => {
  expect(longLocks(readFileSync(new URL("000027.sql", FOLDER), "utf8"))).toHaveLength(1);
});
