// `gas-waiver serve` with a file of several networks, in a process of its own: a devnet, a chain of another id,
// and one whose node is down.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createConnection } from "../packages/server/src/store/database/database.js";
import { ScriptedNode } from "../packages/server/test/support/scriptedNode.js";
import { useTestPostgres } from "../packages/server/test/support/testStore.js";
import { type CommandLine, gasWaiver } from "./support/commandLine.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";
import { submit } from "./support/submit.js";
import { API_KEY, account, CHAIN_ID, TOKEN, transferOf } from "./support/user.js";

const OTHER_CHAIN_ID = 988;
const INCLUDED = { query: "?wait=included" };
const folder = freshFolder();
const file = join(folder, "gas-waiver.yaml");
const keyFile = join(folder, "waiver.key");
const postgres = useTestPostgres();
let other: ScriptedNode;
let late: ScriptedNode;
let databaseUrl = "";
let devnet: CommandLine;
let service: Program;
let url = "";

beforeAll(async () => {
  devnet = gasWaiver(["devnet", "--port", "0", "--block-time", "0"]);
  const { url: devnetUrl } = await devnet.ready();
  databaseUrl = await postgres.createEmptyDatabase();
  [other, late] = [await ScriptedNode.start(), await ScriptedNode.start()];
  other.chain.chainId = OTHER_CHAIN_ID;
  late.chain.chainId = 77;
  await late.close();
  writeFileSync(keyFile, account(10).privateKey, { mode: 0o600 });
  const network = (name: string, chainId: number, rpcUrl: string, place = "") => `
  - name: ${name}
    chain-id: ${chainId}
    rpc-url: ${rpcUrl}
    waiver-key-file: waiver.key
    allowed-targets: [{ address: "${TOKEN}", selectors: ["0xa9059cbb"] }]${place}`;
  const networks = [
    network("dev", CHAIN_ID, devnetUrl, "\n    path: /"),
    network("other", OTHER_CHAIN_ID, other.url),
    network("late", 77, late.url, "\n    host: late.test"),
  ];
  writeFileSync(file, `port: 0\nmetrics-port: 0\nlog-level: info\nnetworks:${networks.join("")}\n`);
  service = Program.gasWaiver(["serve", "--config", file], {
    DATABASE_URL: databaseUrl,
    GAS_WAIVER_API_KEYS: API_KEY,
  });
  ({ url } = await service.ready());
});
afterAll(async () => {
  await service?.end("SIGKILL");
  await devnet?.end();
  await other?.close();
  await late?.close();
});

const pause = () => sleep(50);
const sign = (user: number, chainId: number, nonce = 0) =>
  account(user).signTransaction(transferOf(account(9).address, 1n, nonce, { chainId }));

it("serves each network of the file at its place, says which does not run, and logs with their names", async () => {
  expect(await submit(url, [await sign(0, CHAIN_ID)], INCLUDED)).toMatchObject([{ success: true }]);
  expect(await submit(`${url}/other`, [await sign(0, OTHER_CHAIN_ID)], INCLUDED)).toMatchObject([
    { success: true },
  ]);
  expect(service.stdout).toContain(
    `network other (chain ${OTHER_CHAIN_ID}) at ${url}/other: 0 earlier submission(s)`,
  );
  expect(service.stdout).toMatch(
    /network late \(chain 77\) for late\.test: does not run, and is tried again: .*node/,
  );
  const logged = service.stderr
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(logged).toContainEqual(expect.objectContaining({ network: "other", msg: "the network runs" }));
  expect(logged).toContainEqual(expect.objectContaining({ network: "late", level: 50 }));
});

it("checks the schema of each network: its number, its chain, and the right to make one that is not there", async () => {
  const checked = join(folder, "checked.yaml");
  const other = readFileSync(file, "utf8").replace(
    `chain-id: 77`,
    "chain-id: 78\n    schema: gas_waiver_other",
  );
  writeFileSync(checked, other.replace("name: other", "name: renamed"));
  const stores = async (databaseUrl: string) => {
    const args = ["config", "check", "--config", checked, "--json"];
    const { out } = await gasWaiver(args, { DATABASE_URL: databaseUrl }).result();
    const findings: Record<string, string>[] = JSON.parse(out).findings;
    return findings
      .filter(({ check, area }) => area === "database" && ["schema", "rights"].includes(String(check)))
      .map(({ network, check, verdict, found }) => `${network} ${check} ${verdict}: ${found}`);
  };
  expect(await stores(databaseUrl)).toEqual([
    expect.stringMatching(/^dev schema ok: number \d+, as this program$/),
    "dev rights ok: the role may make tables in the schema gas_waiver_dev",
    "renamed schema ok: there is no store yet; the start makes it",
    "renamed rights ok: the role may make the schema gas_waiver_renamed",
    "late schema refuses: the store belongs to chain 988, the service is for chain 78",
    "late rights ok: the role may make tables in the schema gas_waiver_other",
  ]);
  const connection = createConnection({ connectionString: databaseUrl });
  await connection.connect();
  await connection.query("create role stranger login");
  await connection.end();
  const asStranger = new URL(databaseUrl);
  asStranger.username = "stranger";
  expect(await stores(asStranger.href)).toEqual([
    "dev rights refuses: the role may make no tables in the schema gas_waiver_dev",
    "renamed rights refuses: there is no schema gas_waiver_renamed, and the role may make none",
    "late rights refuses: the role may make no tables in the schema gas_waiver_other",
  ]);
});

it("shows the lanes of one network to commands beside it, by its schema", async () => {
  const list = gasWaiver(["lanes", "list", "--schema", "gas_waiver_other"], {
    DATABASE_URL: databaseUrl,
  });
  expect((await list.ended).status).toBe(0);
  expect(list.stdout).toContain(account(10).address.toLowerCase());
  const mistyped = gasWaiver(["lanes", "list", "--schema", "gas_waiver_otter"], {
    DATABASE_URL: databaseUrl,
  });
  expect((await mistyped.ended).status).toBe(1);
  expect(mistyped.stderr).toContain("no schema gas_waiver_otter");
  const create = gasWaiver(["keys", "create", "--label", "Shop", "--config", file], {
    DATABASE_URL: databaseUrl,
  });
  const { status } = await create.ended;
  expect({ status, said: create.output }).toEqual({
    status: 2,
    said: expect.stringContaining("--schema (gas_waiver_dev, gas_waiver_other, gas_waiver_late)"),
  });
  expect(await ofOther("select from pg_class where oid = to_regclass('public.migrations')")).toEqual([]);
});

it("reads the keys of a network again when an operator asks for it, and of no other", async () => {
  await ofOther("notify gas_waiver_read_gas_waiver_other, 'waivers'");
  await service.line(/^network other: 1 waiver key\(s\) read again$/);
  expect(service.stdout).not.toContain("network dev: 1 waiver key(s) read again");
});

it("goes on after its end, with what each network had accepted", async () => {
  await other.close();
  const waiting = submit(`${url}/other`, [await sign(1, OTHER_CHAIN_ID)]).catch(() => []);
  await until(async () => (await rows()) > 1);
  expect((await service.end("SIGTERM")).status).toBe(0);
  await waiting;
  await other.open();
  service = Program.gasWaiver(["serve", "--config", file], {
    DATABASE_URL: databaseUrl,
    GAS_WAIVER_API_KEYS: API_KEY,
    // For the last test, which ends the service while it waits.
    GAS_WAIVER_SHUTDOWN_DELAY: "60000",
  });
  ({ url } = await service.ready());
  expect(await submit(`${url}/other`, [await sign(1, OTHER_CHAIN_ID)], INCLUDED)).toMatchObject([
    { success: true },
  ]);
  expect(other.chain.executed).toHaveLength(2);
});

/** Counts the submissions of the other chain. */
async function rows(): Promise<number> {
  return (await ofOther("select from gas_waiver_other.submissions")).length;
}

async function ofOther(sql: string): Promise<unknown[]> {
  const connection = createConnection({ connectionString: databaseUrl });
  await connection.connect();
  const { rows: found } = await connection.query(sql);
  await connection.end();
  return found;
}

/** Polls until the condition holds; the time limit of the test bounds it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

it("prints JSON for supervisors when it is ready, and when its shutdown begins and is done", async () => {
  const [, devnetUrl = ""] = /rpc-url: (\S+)/.exec(readFileSync(file, "utf8")) ?? [];
  const chain = ["--rpc-url", devnetUrl, "--chain-id", String(CHAIN_ID), "--waiver-key-file", keyFile];
  const flags = ["--port", "0", "--log-level", "silent", "--schema", "json", "--json"];
  const program = gasWaiver(["serve", ...chain, ...flags], { DATABASE_URL: databaseUrl });
  await program.line(/^\{"ready"/);
  expect(await program.end()).toEqual({ status: 0, signal: null });
  const lines = program.output.trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line)).slice(-4)).toEqual([
    { message: "0 earlier submission(s) found in the store" },
    { ready: true, url: expect.stringMatching(/^http:/), chainId: CHAIN_ID },
    { shutdown: "begun" },
    { shutdown: "done" },
  ]);
});

// The last one, because it ends the service.
it("ends at once at a second Ctrl-C while it serves on before its shutdown, and has lost nothing", async () => {
  const [line] = await submit(url, [await sign(1, CHAIN_ID)]);
  const [, metricsUrl] = await service.line(/^metrics at (\S+)\/metrics/);
  service.signal("SIGINT");
  while ((await fetch(`${metricsUrl}/readyz`)).status !== 503) await pause();
  // Signals that come within a moment count as one.
  while (!service.hasEnded) {
    service.signal("SIGINT");
    await Promise.race([service.ended, pause()]);
  }
  expect(await service.ended).toEqual({ status: 130, signal: null });
  const connection = createConnection({ connectionString: databaseUrl });
  await connection.connect();
  const { rows } = await connection.query("select from gas_waiver_dev.submissions where id = $1", [line?.id]);
  await connection.end();
  expect(rows).toHaveLength(1);
});
