import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { freePort } from "./deployment/freePort.js";
import { gasWaiver } from "./support/commandLine.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { GAS_WAIVER, Program, processesWith } from "./support/program.js";

/** The most time that a program may take to end after a signal, also while it starts. */
const END_WITHIN_MS = 5_000;

const devArguments = (dataDir: string, ...flags: string[]) => [
  "dev",
  ...(flags.includes("--port") ? [] : ["--port", "0"]),
  "--rpc-port",
  "0",
  "--data-dir",
  dataDir,
  ...flags,
];
/** Starts `gas-waiver dev` in a process of its own. */
const dev = (dataDir: string, ...flags: string[]) => Program.gasWaiver(devArguments(dataDir, ...flags));

describe("a signal", () => {
  it.each([
    ["while the database is being created", "SIGTERM", /^chain /, [], freshFolder],
    ["during the demonstration", "SIGINT", /^A gasless transfer/, [], dataFolder],
    ["when ready", "SIGTERM", /^ready/, [], dataFolder],
    ["when ready, without a demonstration", "SIGINT", /^ready/, ["--no-demo"], dataFolder],
  ] as const)(
    "%s ends everything with status 0 and leaves no process",
    async (_, name, line, flags, makeFolder) => {
      const dataDir = await makeFolder();
      const program = dev(dataDir, ...flags);
      await program.line(line);
      const since = performance.now();
      expect(await program.end(name)).toEqual({ status: 0, signal: null });
      expect(performance.now() - since).toBeLessThan(END_WITHIN_MS);
      expect(processesWith(dataDir)).toEqual([]);
      expect(program.stderr).not.toContain("unexpected");
    },
  );

  it("ends npm start while it builds", async () => {
    const program = new Program(["scripts/start.mjs", "--port", "0", "--rpc-port", "0"]);
    await program.line(/^building/);
    const since = performance.now();
    expect(await program.end()).toEqual({ status: 0, signal: null });
    expect(performance.now() - since).toBeLessThan(END_WITHIN_MS);
  });
});

// Most of the time is the wait for the data folder.
describe.concurrent("a start that fails", () => {
  it.each([["--port"], ["--rpc-port"]])(
    "explains in one sentence that the port of %s is in use",
    async (flag) => {
      const portHolder = createServer();
      await new Promise<void>((resolve) => portHolder.listen(0, "127.0.0.1", resolve));
      const { port } = portHolder.address() as AddressInfo;
      const dataDir = await dataFolder();
      const free = flag === "--port" ? "--rpc-port" : "--port";
      const args = ["dev", "--data-dir", dataDir, flag, String(port), free, "0"];
      const program = gasWaiver(args);
      expect(await program.ended).toEqual({ status: 1, signal: null });
      expect(program.stderr).toBe(`gas-waiver: port ${port} of 127.0.0.1 is in use by another program\n`);
      expect(processesWith(dataDir)).toEqual([]);
      await new Promise((resolve) => portHolder.close(resolve));
    },
  );

  it("explains in one sentence that the data folder is in use", async () => {
    const dataDir = await dataFolder();
    const first = dev(dataDir, "--no-demo");
    await first.ready();
    const second = dev(dataDir, "--no-demo");
    expect(await second.ended).toEqual({ status: 1, signal: null });
    expect(second.stderr).toMatch(/^gas-waiver: [^\n]*is in use[^\n]*\n$/);
    expect(second.stderr).toContain(dataDir);
    expect(await first.end()).toEqual({ status: 0, signal: null });
  });

  it("reports wrong settings with status 2", async () => {
    const program = gasWaiver(devArguments(freshFolder(), "--prot", "1", "--block-time", "soon"));
    expect(await program.ended).toEqual({ status: 2, signal: null });
    expect(program.stderr).toContain("--prot");
    expect(program.stderr).toContain("--block-time");
  });
});

it.runIf(existsSync("/dev/full"))(
  "a service whose standard output and log are on a full disk works, and ends by a signal",
  async () => {
    const port = await freePort();
    const full = openSync("/dev/full", "w");
    const args = [GAS_WAIVER, ...devArguments(await dataFolder(), "--no-demo", "--port", String(port))];
    const child = spawn(process.execPath, args, { stdio: ["ignore", full, full] });
    closeSync(full);
    const ended = new Promise((resolve) => child.once("close", resolve));
    const health = async (): Promise<number> => {
      const answer = fetch(`http://127.0.0.1:${port}/v1/health`).then(({ status }) => status);
      const status = await Promise.race([answer.catch(() => 0), ended.then(() => -1)]);
      return status === 0 ? await health() : status;
    };
    expect(await health()).toBe(200);
    child.kill("SIGTERM");
    expect(await ended).toBe(0);
  },
);

describe("a second start on the same data folder", () => {
  it("finds the earlier submissions, and adopts its new chain", async () => {
    const dataDir = await dataFolder();
    for (const earlierCount of [0, 1, 2]) {
      const program = gasWaiver(devArguments(dataDir, "--block-time", "100"));
      await program.ready();
      expect(program.stdout).toContain(`${earlierCount} earlier submission`);
      expect(program.stdout).toMatch(/user's USDT0\s+1,000,000\s+999,975\n/);
      expect(await program.end()).toEqual({ status: 0, signal: null });
    }
  });
});
