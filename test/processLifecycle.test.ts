import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { gasWaiver } from "./support/commandLine.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program, processesWith } from "./support/program.js";

/** The most time that a program may take to end after a signal, also while it starts. */
const END_WITHIN_MS = 5_000;

const devArguments = (dataDir: string, ...flags: string[]) => [
  "dev",
  "--port",
  "0",
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
