// The database is lost, and restored to a moment in the middle of load: from a base backup and the archived log, with the
// settings that docs/guides/backup.md shows.
import { readFileSync } from "node:fs";
import type { Hex, ResultLine } from "@gas-waiver/protocol";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ScriptedNode } from "../support/scriptedNode.js";
import { TestPostgres } from "../support/testPostgres.js";
import { GOOD_HEADERS, outcomeOf, TestService, txHashOf } from "../support/testService.js";
import { accountsOf, hashOf, innerOf, SECOND_KEY, WAIVER_KEY } from "../support/user.js";

const guide = readFileSync(new URL("../../../../docs/guides/backup.md", import.meta.url), "utf8");
const ARCHIVE = "/var/backups/gas-waiver/log";
const MOMENT = "2026-11-22 14:05:00+00";

/** The settings of the guide's block with this line, for another archive and moment. */
function settingsOfGuide(line: string, archive: string, moment = MOMENT): string {
  const block = Array.from(guide.matchAll(/```ini\n([^`]+)```/g), ([, text = ""]) => text).find((text) =>
    text.includes(line),
  );
  if (block === undefined) throw new Error(`the guide has no settings with ${line}`);
  return block.replaceAll(ARCHIVE, archive).replace(MOMENT, moment);
}

let postgres: TestPostgres;
let node: ScriptedNode;
let service: TestService;
beforeEach(async () => {
  postgres = await new TestPostgres().start();
  await postgres.startArchive((archive) => settingsOfGuide("archive_command", archive));
  node = await ScriptedNode.start({ pool: "queued" });
  service = await TestService.start({
    patience: { speed: 10 },
    node,
    databaseUrl: await postgres.createDatabase(),
    changes: {
      waivers: accountsOf(WAIVER_KEY, SECOND_KEY),
      requestTimeoutMs: 60_000,
      nonceGapTimeoutMs: 60_000,
      maxBatchSize: 1_000,
    },
  });
});
afterEach(async () => {
  await service.server.close();
  await node.close();
  await postgres.end();
});

const INCLUDED = { query: "?wait=included" };

interface Told {
  readonly raw: Hex;
  readonly line: ResultLine;
}

/** Each client's pause after a line, so that the load stays small while the backup is taken. */
const PAUSE_MS = 100;

/** Clients that submit one transaction after the other, each of a new user, and note every line. */
function startLoad(clients: number) {
  const told: Told[] = [];
  const ending = new AbortController();
  let user = 100;
  const run = async (options: { readonly query?: string }) => {
    while (!ending.signal.aborted) {
      const raw = innerOf(user++);
      const [line] = await service.submit([raw], options);
      if (line) told.push({ raw, line });
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  // Half of the clients wait for the block, and half for the node.
  const running = Array.from({ length: clients }, (_, i) => run(i % 2 === 0 ? INCLUDED : {}));
  return {
    told,
    /** Resolves when this many more lines have been told. */
    async untilTold(more: number): Promise<void> {
      const goal = told.length + more;
      while (told.length < goal)
        await Promise.race([...running, new Promise((resolve) => setTimeout(resolve, 5))]);
    },
    async end(): Promise<void> {
      ending.abort();
      await Promise.all(running);
    },
  };
}

async function statusOfRecord(id: string): Promise<string> {
  const { status, text } = await service.call("GET", `/v1/submissions/${id}`, undefined, GOOD_HEADERS);
  return status === 200 ? JSON.parse(text).state : String(status);
}

it("contradicts nothing that clients were told, and executes nothing twice", async () => {
  const load = startLoad(6);
  await load.untilTold(10);
  await postgres.backUp();
  await load.untilTold(10);
  // This one waits in the queue at the moment of the restore, because its sender's first nonce is missing.
  const waiting = service.submit([innerOf(1, 1)], INCLUDED);
  await service.until("select from unfinished where sender_nonce = 1");
  const before = [...load.told];
  const [row] = await postgres.primary.query<{ moment: string }>("select clock_timestamp()::text as moment");
  const moment = row?.moment ?? "";
  const first = await service.submit([innerOf(1)], INCLUDED);
  const after: Told[] = [
    { raw: innerOf(1), line: first[0] as ResultLine },
    { raw: innerOf(1, 1), line: (await waiting)[0] as ResultLine },
  ];
  await load.untilTold(10);
  await load.end();
  // The last lines of all tell of wrappers that only the pool of the node has.
  node.automine = false;
  const pooled = [innerOf(2), innerOf(3), innerOf(4)];
  const pooledLines = await service.submit(pooled);
  after.push(...pooledLines.map((line, i) => ({ raw: pooled[i] as Hex, line })));
  const told = [...load.told, ...after];
  expect(told.map(({ line }) => outcomeOf(line))).toEqual(told.map(() => "success"));

  await postgres.archiveLog();
  await Promise.all([
    service.server.close(),
    postgres.restore((archive) => settingsOfGuide("recovery_target_time", archive, moment)),
  ]);
  service = await service.startReplica();
  // The lane gives the nonce of a wrapper that only the pool has to this one.
  const { length } = node.sent;
  const next = service.submit([innerOf(5)], INCLUDED);
  await node.until(({ sent }) => sent.length > length);
  node.automine = true;
  node.mine();
  expect((await next).map(outcomeOf)).toEqual(["success"]);

  await service.until("select from submissions having bool_and(state = 'included')");
  const records: string[] = [];
  for (const { line } of told) records.push(await statusOfRecord(line.id));
  expect(new Set(records.slice(0, before.length))).toEqual(new Set(["included"]));
  expect(new Set(records)).toEqual(new Set(["included", "404"]));

  const again = await service.submit(
    told.map(({ raw }) => raw),
    INCLUDED,
  );
  expect(again.map(txHashOf)).toEqual(told.map(({ raw }) => hashOf(raw)));
  expect(again.slice(0, before.length).map(({ id }) => id)).toEqual(before.map(({ line }) => line.id));
  const executed = [...told.map(({ raw }) => raw), innerOf(5)].map(hashOf);
  expect([...node.chain.executed].sort()).toEqual(executed.sort());

  expect(await service.query("select from submissions where state <> 'included'")).toEqual([]);
  expect(await service.query("select from lanes where state <> 'open' or foreign_uses > 0")).toEqual([]);
});
