// `gas-waiver waivers rotate` beside two replicas under load, interrupted at its steps.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import type { JsonRpcProvider } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useTestPostgres } from "../packages/server/test/support/testStore.js";
import { type CommandLine, gasWaiver } from "./support/commandLine.js";
import { freshFolder } from "./support/freshFolder.js";
import type { Program } from "./support/program.js";
import { startServiceProcess } from "./support/service.js";
import { type Line, submit } from "./support/submit.js";
import { account, connect, tokensOf, transferOf } from "./support/user.js";

const [OLD, NEW] = [account(10), account(12)];
const RECIPIENT = "0x00000000000000000000000000000000000b0b42";
/** The senders of the load, each at its own replica. */
const SENDERS = [0, 1];

/** Replaces a file of keys at once: a replica that reads it at that moment finds all keys, or all keys of before. */
function writeKeys(file: string, ...keys: readonly { readonly privateKey: string }[]): void {
  const written = `${file}.new`;
  writeFileSync(written, keys.map(({ privateKey }) => `${privateKey}\n`).join(""), { mode: 0o600 });
  renameSync(written, file);
}

const postgres = useTestPostgres();
let databaseUrl: string;
let devnet: Devnet;
let rpcUrl: string;
let chain: JsonRpcProvider;
let keyFiles: string[];
let replicas: Program[];
let urls: string[];

beforeAll(async () => {
  databaseUrl = await postgres.createDatabase();
  devnet = await createDevnet({ blockTimeMs: 100 });
  ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
  chain = connect(rpcUrl);
  keyFiles = SENDERS.map(() => join(freshFolder(), "keys"));
  for (const file of keyFiles) writeKeys(file, OLD);
  replicas = keyFiles.map((keyFile) =>
    startServiceProcess({
      ...{ rpcUrl, databaseUrl, keyFile },
      flags: ["--policy-source", "both", "--reorg-depth", "2", "--lease", "1000"],
    }),
  );
  urls = await Promise.all(replicas.map(async (replica) => (await replica.ready()).url));
}, 120_000);

afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.end()));
  chain?.destroy();
  await devnet?.close();
});

/** Transfers one after the other at each replica until it is ended. */
function startLoad() {
  let ended = false;
  const send = async (sender: number, url: string) => {
    const lines: Line[] = [];
    for (let nonce = 0; !ended; nonce++) {
      const signed = await account(sender).signTransaction(transferOf(RECIPIENT, 1n, nonce));
      lines.push(...(await submit(url, [signed], { query: "?wait=included" })));
    }
    return lines;
  };
  const all = Promise.all(SENDERS.map((sender, i) => send(sender, urls[i] ?? "")));
  return {
    async end(): Promise<Line[]> {
      ended = true;
      return (await all).flat();
    },
  };
}

const rotateFlags = () => ["waivers", "rotate", "--from", OLD.address, "--rpc-url", rpcUrl];
const rotate = (...args: string[]) => gasWaiver([...rotateFlags(), ...args], { DATABASE_URL: databaseUrl });

/** Runs a command to its end. */
const call = (...argv: string[]) => gasWaiver(argv, { DATABASE_URL: databaseUrl }).result();

async function interrupt(program: CommandLine): Promise<void> {
  expect(await program.end("SIGINT")).toEqual({ status: 1, signal: null });
  expect(program.stderr).toBe("gas-waiver: interrupted: the same command goes on\n");
}

interface LaneJson {
  readonly waiver: string;
  readonly state: string;
  readonly queued: number;
  readonly underWay: number;
}

async function lanes(): Promise<Map<string, LaneJson>> {
  const { out } = await call("lanes", "list", "--json");
  return new Map(JSON.parse(out).map((lane: LaneJson) => [lane.waiver, lane]));
}

describe("gas-waiver waivers rotate", () => {
  it("replaces a key under load, through interruptions at its steps: nothing fails, and the old lane empties", async () => {
    const load = startLoad();

    const alone = rotate("--to", NEW.address);
    const [, calldata = ""] = await alone.line(/^ {3}or sends this call to 0x0{36}f334: (0x[0-9a-f]+)$/);
    expect(calldata).toContain(NEW.address.slice(2).toLowerCase());
    expect(alone.stdout).toContain(`governance propose --register ${NEW.address} --targets FILE`);
    await interrupt(alone);

    // The first run has recorded the new waiver.
    const waiting = rotate("--dev");
    await waiting.line(/^2 of 4: the replicas read the new key/);
    await interrupt(waiting);

    for (const file of keyFiles) writeKeys(file, OLD, NEW);
    const draining = rotate("--dev");
    await draining.line(/^3 of 4: the lane of \S+ finishes its work$/);
    await interrupt(draining);

    const last = rotate("--dev");
    expect(await last.ended, last.output).toEqual({ status: 0, signal: null });
    expect(last.stdout).toContain(`${NEW.address} has taken the place of ${OLD.address}, which is revoked\n`);
    const oldNonce = await chain.getTransactionCount(OLD.address);

    const lines = await load.end();
    expect(lines.filter(({ success }) => !success)).toEqual([]);
    expect(await tokensOf(chain, RECIPIENT)).toBe(BigInt(lines.length));
    expect(await chain.getTransactionCount(OLD.address)).toBe(oldNonce);
    expect(await chain.getTransactionCount(NEW.address)).toBeGreaterThan(0);
    const found = await lanes();
    expect(found.get(OLD.address.toLowerCase())).toMatchObject({ state: "retired", queued: 0, underWay: 0 });
    expect(found.get(NEW.address.toLowerCase())).toMatchObject({ state: "open" });

    const again = await call(...rotateFlags(), "--json");
    expect(JSON.parse(again.out)).toEqual({ from: OLD.address, to: NEW.address, step: "complete" });
  }, 120_000);

  it("has all replicas drop a key that is gone from their files, by one command", async () => {
    for (const file of keyFiles) writeKeys(file, NEW);
    const reload = await call("waivers", "reload", "--json");
    const found = JSON.parse(reload.out) as { waivers: string[] }[];
    expect(found.map(({ waivers }) => waivers)).toEqual(SENDERS.map(() => [NEW.address.toLowerCase()]));
  });

  it("refuses a waiver that the service does not have", async () => {
    const unknown = ["--from", account(13).address, "--to", NEW.address];
    expect(await call("waivers", "rotate", ...unknown)).toEqual({
      status: 1,
      out: "",
      err: `gas-waiver: the service has no lane for waiver ${account(13).address}\n`,
    });
  });

  it("has the replicas log no error: what an operator has planned wants nobody at night", async () => {
    await Promise.all(replicas.map((replica) => replica.end()));
    const errors = replicas.flatMap(({ output }) => output.match(/^\{"level":[56]0.*$/gm) ?? []);
    expect(errors).toEqual([]);
  });
});
