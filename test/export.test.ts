// `gas-waiver export` on a real PostgreSQL.
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseSubmissionRecord } from "@gas-waiver/protocol";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { run } from "../packages/cli/src/run.js";
import { adoptChain } from "../packages/server/src/store/chains.js";
import type { Store } from "../packages/server/src/store/store.js";
import { useTestStore } from "../packages/server/test/support/testStore.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";

let store: Store;
let databaseUrl: string;
let chain: number;
useTestStore("shared", async (opened, url) => {
  [store, databaseUrl] = [opened, url];
  chain = await adoptChain(store, { chainId: 2201, genesisHash: new Uint8Array(32).fill(1) });
});

const folder = freshFolder();
let files = 0;
const freshFile = () => join(folder, `export-${++files}`);

/** Runs `gas-waiver export` in this process. */
async function exportDays(args: string, signal = new AbortController().signal) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await run(["export", ...args.split(" ")], {
    env: { DATABASE_URL: databaseUrl },
    signal,
    print: (line) => out.push(`${line}\n`),
    printError: (line) => err.push(line),
    write: async (text) => void out.push(text),
  });
  return { status, out: out.join(""), err: err.join("\n") };
}

const idAt = (time: string, n: number) => {
  const ms = new Date(time).getTime().toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
};
const bytes = (n: number, length: number) => Buffer.alloc(length, n % 256);

const MESSAGE = 'the node says "no, never",\nand more: ü';

interface Row {
  readonly id: string;
  readonly state: "included" | "failed";
  readonly reverted?: boolean;
}

let rows = 0;
async function insertOutcome({ id, state, reverted = false }: Row): Promise<string> {
  const isIncluded = state === "included";
  await store.pool.query(
    `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, waiver_nonce,
       signings, wrapper_hash, block_number, block_hash, gas_used, reverted, error_reason, error_message, accepted_at)
     values ($1, $2, 'shop', $3, $4, $5, $6, $5, $5, $7, 2, $8, $9, $8, $10, $11, $12, $13, now())`,
    [
      ...[id, chain, state, bytes(++rows, 32), bytes(rows, 20), rows, isIncluded ? rows : null],
      ...(isIncluded ? [bytes(7, 32), 12, 21_000, reverted, null, null] : []),
      ...(isIncluded ? [] : [null, null, null, null, "NODE_REFUSED", MESSAGE]),
    ],
  );
  return id;
}

/** Inserts included outcomes, a millisecond apart. */
async function insertMany(day: string, count: number): Promise<void> {
  await store.pool.query(
    `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, signings,
       block_number, block_hash, gas_used, reverted, accepted_at)
     select regexp_replace(lpad(to_hex($1 + i), 12, '0') || '70008000' || lpad(to_hex(i), 12, '0'), '(.{8})(.{4})', '\\1-\\2-')::uuid,
       $2, 'bulk', 'included', sha256(int8send(i)), substr(sha256(int8send(i)), 1, 20), $1 + i, '\\x11'::bytea, '\\x22'::bytea, 1,
       1, '\\x33'::bytea, 1, false, now() from generate_series(1::bigint, $3) i`,
    [new Date(`${day}T00:00:00Z`).getTime(), chain, count],
  );
}

const [DAY, NEXT_DAY] = ["2025-03-01", "2025-03-02"];
const RANGE = `--from ${DAY} --to ${NEXT_DAY}`;
let expected: string[];

beforeAll(async () => {
  await insertOutcome({ id: idAt("2025-02-28T23:59:59.999Z", 1), state: "included" });
  expected = [
    await insertOutcome({ id: idAt("2025-03-01T00:00:00.000Z", 1), state: "included" }),
    await insertOutcome({ id: idAt("2025-03-01T12:00:00.000Z", 1), state: "failed" }),
    await insertOutcome({ id: idAt("2025-03-01T23:59:59.999Z", 1), state: "included", reverted: true }),
    await insertOutcome({ id: idAt("2025-03-02T00:00:00.000Z", 1), state: "failed" }),
    await insertOutcome({ id: idAt("2025-03-02T23:59:59.999Z", 1), state: "included" }),
  ];
  await insertOutcome({ id: idAt("2025-03-03T00:00:00.000Z", 1), state: "included" });
});

/** Reads CSV as RFC 4180 has it. */
function parseCsv(text: string): Record<string, string>[] {
  const fields = [...text.matchAll(/("(?:[^"]|"")*"|[^",\n]*)([,\n])/g)];
  const records: string[][] = [[]];
  for (const [, field = "", end] of fields) {
    records.at(-1)?.push(field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);
    if (end === "\n") records.push([]);
  }
  const [names = [], ...rows] = records.slice(0, -1);
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] ?? "missing"])));
}

describe("gas-waiver export", () => {
  it("writes the outcomes of the days as NDJSON, the oldest first, into a file of its owner with a manifest", async () => {
    const file = freshFile();
    const { status, out, err } = await exportDays(`${RANGE} --out ${file}`);
    expect({ status, err }).toEqual({ status: 0, err: "" });
    const text = readFileSync(file);
    const records = text
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(records.map(({ id }) => id)).toEqual(expected);
    for (const record of records) {
      parseSubmissionRecord(record);
      expect(record).toMatchObject({ chainId: 2201, keyId: "shop", signings: 2 });
    }
    expect(records[1].error).toMatchObject({ reason: "NODE_REFUSED", message: MESSAGE });
    expect(records[2]).toMatchObject({ reverted: true, error: { reason: "REVERTED" } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const sha256 = createHash("sha256").update(text).digest("hex");
    expect(JSON.parse(readFileSync(`${file}.manifest.json`, "utf8"))).toMatchObject({
      ...{ complete: true, from: DAY, to: NEXT_DAY, format: "ndjson", rows: 5, bytes: text.length, sha256 },
      days: { [DAY]: 3, [NEXT_DAY]: 2 },
    });
    expect(out).toBe(`${file} is complete: 5 outcome(s) of ${DAY} to ${NEXT_DAY}, SHA-256 ${sha256}\n`);
  });

  it("records the days of a complete file, and none of an export to standard output", async () => {
    const exported = async () => {
      const { rows } = await store.pool.query(
        "select partition_day::text as day, rows::int from exports where partition_day < '2025-02-10' order by 1",
      );
      return rows;
    };
    await exportDays("--from 2025-02-01 --to 2025-02-01");
    expect(await exported()).toEqual([]);
    await insertOutcome({ id: idAt("2025-02-02T10:00:00.000Z", 1), state: "included" });
    const args = `--from 2025-02-01 --to 2025-02-02 --out ${freshFile()}`;
    await exportDays(args);
    const recorded = [
      { day: "2025-02-01", rows: 0 },
      { day: "2025-02-02", rows: 1 },
    ];
    expect(await exported()).toEqual(recorded);
    await store.pool.query("delete from exports");
    await exportDays(`${args} --resume`);
    expect(await exported()).toEqual(recorded);
  });

  it("refuses days that have left the store", async () => {
    await store.pool.query("update finished_range set first_id = $1", [idAt("2024-12-31T00:00:00Z", 0)]);
    const { status, err } = await exportDays("--from 2024-12-30 --to 2025-01-01");
    expect({ status, err }).toEqual({
      status: 1,
      err: "gas-waiver: the day 2024-12-30 has left the store: the first one that it keeps is 2024-12-31",
    });
    expect((await exportDays("--from 2025-01-01 --to 2025-01-01")).status).toBe(0);
  });

  it("writes the same values as CSV, and quotes messages with quotation marks, commas and line feeds", async () => {
    const { out: csv, status } = await exportDays(`${RANGE} --format csv`);
    const { out: ndjson } = await exportDays(RANGE);
    expect(status).toBe(0);
    const records = ndjson
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const flattened = records.map(({ error, ...values }) => ({
      ...values,
      ...(error && { errorCode: error.code, errorReason: error.reason, errorMessage: error.message }),
      ...(error?.details && { errorDetails: JSON.stringify(error.details) }),
    }));
    const given = parseCsv(csv).map((row) =>
      Object.fromEntries(Object.entries(row).filter(([, value]) => value !== "")),
    );
    const asText = (values: object) =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
    expect(given).toEqual(flattened.map(asText));
    expect(given[1]?.errorMessage).toBe(MESSAGE);
  });

  it("writes what the view of outcomes has, and the rest of an error", async () => {
    await store.pool.query(
      `update finished set waiver_nonce = 3, wrapper_hash = $2, selector = $3, signed_at = now(), broadcast_at = 'infinity',
         included_at = now() where id = $1`,
      [expected[0], bytes(9, 32), bytes(8, 4)],
    );
    const { out } = await exportDays(`${RANGE} --format csv`);
    const { rows } = await store.pool.query(
      "select * from outcomes where id >= first_id_of($1) and id < first_id_of($2::date + 1) order by id",
      [DAY, NEXT_DAY],
    );
    const values = (row: Record<string, unknown>) => {
      const { errorCode: _, errorDetails: __, errorMessage, ...rest } = row;
      const known = { ...rest, ...(row.errorReason !== "REVERTED" && { errorMessage }) };
      return Object.fromEntries(Object.entries(known).map(([name, value]) => [name, String(value ?? "")]));
    };
    expect(rows.map(values)).toEqual(parseCsv(out).map(values));
  });

  it("goes on after SIGKILL in the middle", async () => {
    const [day, count] = ["2025-05-01", 12_000];
    await insertMany(day, count);
    const file = freshFile();
    const args = `--from ${day} --to ${day} --out ${file}`;
    const program = Program.gasWaiver(["export", ...args.split(" ")], { DATABASE_URL: databaseUrl });
    const hasRecords = () => (statSync(`${file}.part`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    await vi.waitUntil(hasRecords, { interval: 1, timeout: 200_000 });
    await program.end("SIGKILL");
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
    expect(JSON.parse(readFileSync(`${file}.manifest.json`, "utf8"))).toMatchObject({ complete: false });
    expect((await exportDays(`${args} --resume`)).status).toBe(0);
    const ids = readFileSync(file, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).id);
    expect(ids).toHaveLength(count);
    expect(ids.every((id, i) => i === 0 || id > ids[i - 1])).toBe(true);
  });

  it("says with status 1 that it was interrupted", async () => {
    const { status, err } = await exportDays(`${RANGE} --out ${freshFile()}`, AbortSignal.abort());
    expect({ status, err }).toEqual({
      status: 1,
      err: "gas-waiver: interrupted after 0 outcome(s): --resume goes on",
    });
  });

  it("refuses days with unfinished submissions, and exports the days before them", async () => {
    const id = idAt("2025-03-04T10:00:00Z", 1);
    await store.pool.query(
      `insert into unfinished (id, chain, key_id, origin, inner_hash, inner_raw, sender, sender_nonce, target, waiver)
       values ($1, $2, 'shop', $1, $3, '\\x00', $4, 0, $4, $4)`,
      [id, chain, bytes(1, 32), bytes(1, 20)],
    );
    const refused = await exportDays("--from 2025-03-01 --to 2025-03-05");
    expect(refused).toMatchObject({ status: 1, out: "" });
    expect(refused.err).toContain(
      `the day 2025-03-04 is not complete: 1 submission(s) of the days asked for are unfinished, the oldest is ${id}`,
    );
    expect((await exportDays("--from 2025-03-01 --to 2025-03-03")).status).toBe(0);
    await store.pool.query("delete from unfinished where id = $1", [id]);
    await insertOutcome({ id, state: "failed" });
    expect((await exportDays("--from 2025-03-04 --to 2025-03-04")).out).toContain(id);
  });

  it("refuses a day that is not over, or that an open transaction may still add to", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const { status, err } = await exportDays(`--from ${DAY} --to ${today}`);
    expect({ status, err }).toEqual({
      status: 1,
      err: expect.stringContaining(
        `the day ${today} is not complete: a day can be exported 15 minutes after its end`,
      ),
    });
  });

  it("overwrites nothing, and resumes only the same export", async () => {
    const file = freshFile();
    const args = `${RANGE} --out ${file}`;
    await exportDays(args);
    const again = await exportDays(args);
    expect(again).toMatchObject({ status: 1, err: `gas-waiver: ${file} is there already` });
    expect(await exportDays(`${args} --resume`)).toMatchObject({
      status: 0,
      out: expect.stringContaining("5 outcome(s)"),
    });
    appendFileSync(file, "more");
    expect((await exportDays(`${args} --resume`)).err).toContain("is not the file of its manifest");
    renameSync(file, `${file}.part`);
    expect((await exportDays(args)).err).toContain(
      "is an export that has not ended: give --resume, or remove it",
    );
    const other = await exportDays(`--from ${DAY} --to ${DAY} --out ${file} --resume`);
    expect(other.err).toContain(`belongs to another export: --from ${DAY} --to ${NEXT_DAY} --format ndjson`);
    writeFileSync(`${file}.part`, "something else\n");
    expect((await exportDays(`${args} --resume`)).err).toContain(
      "is not an export in this format: remove it",
    );
    const noFolder = await exportDays(`${RANGE} --out ${folder}/none/file`);
    expect(noFolder).toMatchObject({
      status: 1,
      err: expect.stringContaining("the export cannot be written: ENOENT"),
    });
  });

  it("lists wrong settings at once", async () => {
    const { status, err } = await exportDays("--from 2025-02-30 --to 2025-03-01 --resume --format xml");
    expect(status).toBe(2);
    expect(err).toContain('--from "2025-02-30" is not a day such as 2030-01-31');
    expect(err).toContain('--format "xml" is not one of ndjson, csv');
    expect(err).toContain("--resume is given without --out");
    expect((await exportDays("--from 2025-03-02 --to 2025-03-01")).err).toContain(
      "--to 2025-03-01 is before --from 2025-03-02",
    );
  });
});
