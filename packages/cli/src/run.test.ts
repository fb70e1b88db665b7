import { describe, expect, it } from "vitest";
import { type ProgramContext, run } from "./run.js";
import { VERSION } from "./version.js";

/** Runs the program. @returns the exit status and the printed lines. */
async function call(argv: string[], options: Partial<ProgramContext> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const status = await run(argv, {
    env: {},
    signal: AbortSignal.abort(),
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    write: async () => {},
    ...options,
  });
  return { status, out: out.join("\n"), err: err.join("\n") };
}

const running = () => ({ signal: new AbortController().signal });

describe("gas-waiver", () => {
  it.each([["--version"], ["-v"]])("%s prints the version", async (flag) => {
    expect(await call([flag])).toEqual({ status: 0, out: VERSION, err: "" });
  });

  it.each([["--help"], ["-h"], ["help"]])("%s shows the commands", async (flag) => {
    const { status, out } = await call([flag]);
    expect(status).toBe(0);
    expect(out).toMatch(/^Usage: gas-waiver <command>/);
    expect(out).toMatch(/ {2}dev .*\n {2}accounts .*\n {2}devnet .*\n {2}serve /);
  });

  it.each([[[]], [["sevre"]], [["--port", "1"]], [["toString"]]])(
    "refuses %j and shows the help",
    async (argv) => {
      const { status, out, err } = await call(argv);
      expect({ status, out }).toEqual({ status: 2, out: "" });
      expect(err).toContain("Usage: gas-waiver <command>");
    },
  );

  it("names the command that a misspelt one probably means", async () => {
    const { err } = await call(["lanes", "lst"]);
    expect(err).toContain("gas-waiver lanes: lst is not a command; there is list\n");
  });

  it("shows the flags of dev with their defaults", async () => {
    const { status, out } = await call(["dev", "--no-demo", "--help"]);
    expect(status).toBe(0);
    expect(out).toMatch(/--port PORT .*Default: 8080\./);
    for (const flag of ["rpc-port", "host", "data-dir", "block-time", "no-demo", "log-level"]) {
      expect(out).toContain(`  --${flag}`);
    }
  });

  it("shows the flags of devnet with their defaults", async () => {
    const { status, out } = await call(["devnet", "--help"]);
    expect(status).toBe(0);
    expect(out).toMatch(/--port PORT .*\n? *Default: 8545\./);
    const flags = ["host ADDRESS", "block-time MS", "state-dir FOLDER", "pool KIND", "min-gas-price WEI"];
    for (const flag of [...flags, "seed N", "no-mining", "fault NAME=VALUE"])
      expect(out).toContain(`  --${flag}`);
  });

  it("starts a devnet with mining stopped at --no-mining", async () => {
    const ending = new AbortController();
    let announce: (url: string) => void = () => {};
    const ready = new Promise<string>((resolve) => {
      announce = resolve;
    });
    const ended = run(["devnet", "--port", "0", "--block-time", "1", "--no-mining"], {
      env: {},
      signal: ending.signal,
      print: (line) => line.startsWith("ready") && announce(line.replace(/^.* at /, "")),
      printError: () => {},
      write: async () => {},
    });
    const response = await fetch(await ready, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"jsonrpc":"2.0","id":1,"method":"devnet_status","params":[]}',
    });
    expect(await response.json()).toMatchObject({ result: { mining: { stopped: true } } });
    ending.abort();
    expect(await ended).toBe(0);
  });

  it("lists all problems of a devnet's faults at once", async () => {
    const faults = ["--fault", "drop=2,nope=1", "--fault", "delayMs=9-1", "--fault=methods=eth_nope"];
    const { status, err } = await call(["devnet", "--port", "0", ...faults], running());
    expect(status).toBe(2);
    expect(err.split("\n").slice(0, -1)).toEqual([
      "gas-waiver devnet cannot start with these settings:",
      "  - --fault: drop is 2, not a share from 0 to 1",
      expect.stringMatching(/^ {2}- --fault: nope is not a fault; the faults are drop, reset, /),
      expect.stringMatching(/^ {2}- --fault: delayMs is \[9,1\], not two whole numbers of milliseconds/),
    ]);
    const malformed = await call(
      ["devnet", "--fault", "drop", "--fault", "seed=1", "--seed", "2"],
      running(),
    );
    expect(malformed.err).toContain('  - --fault "drop,seed=1" is wrong: "drop" is not name=value');
    const twice = await call(["devnet", "--fault", "seed=1", "--seed", "2"], running());
    expect(twice.err).toContain(
      "  - --seed and --fault seed= are both given: the seed comes from one of them",
    );
  });

  it("explains an unusable state folder in one sentence", async () => {
    const { status, out, err } = await call(["devnet", "--state-dir", import.meta.filename], running());
    expect({ status, out }).toEqual({ status: 1, out: "" });
    expect(err).toBe(`gas-waiver: the state folder ${import.meta.filename} is not a folder`);
  });

  it("shows the flags and variables of serve", async () => {
    const { status, out } = await call(["serve", "-h"]);
    expect(status).toBe(0);
    const flags = ["rpc-url URL", "chain-id ID", "allowed-targets FILE", "waiver-key-file FILE", "port PORT"];
    for (const flag of flags) expect(out).toContain(`  --${flag}`);
    for (const name of ["DATABASE_URL", "GAS_WAIVER_KEYS", "GAS_WAIVER_API_KEYS", "[GAS_WAIVER_RPC_URL]"]) {
      expect(out).toContain(name);
    }
    expect(out.split("\n").filter((line) => line.length > 110)).toEqual([]);
  });

  it("lists all problems of the arguments at once", async () => {
    const argv = ["dev", "--port", "web", "--block-time=-1", "--host", "0.0.0.0", "--demo", "--data-dir"];
    const { status, out, err } = await call(argv, running());
    expect({ status, out }).toEqual({ status: 2, out: "" });
    expect(err.split("\n")).toEqual([
      "gas-waiver dev cannot start with these settings:",
      "  - --demo is not a flag of this command; there is --no-demo",
      "  - --data-dir needs a value: --data-dir FOLDER",
      '  - --port "web" is not a whole number from 0 to 65535',
      expect.stringMatching(/^ {2}- --host "0\.0\.0\.0" is not a loopback address/),
      '  - --block-time "-1" is not a whole number from 0 to 2147483647',
      "gas-waiver dev --help shows them all.",
    ]);
  });

  it.each(["0.0.0.0", "127.999.1.1", "127.0.0.1.evil.example", "example.com"])(
    "refuses to start dev on %s, which is not a loopback address",
    async (host) => {
      const { status, err } = await call(["dev", "--host", host], running());
      expect(status).toBe(2);
      expect(err).toContain(`--host "${host}" is not a loopback address`);
    },
  );

  it.each([
    [["dev", "--port", "8545"], "--port and --rpc-port are both 8545"],
    [
      ["serve", "--policy-source", "contract"],
      '--policy-source "contract" is not one of registry, config, both',
    ],
    [
      ["serve", "--cors-origins", "https://app.example.com/page"],
      // The path is masked, since that of a node's URL is often a key.
      '--cors-origins "https://app.example.com/***" is not a list of origins',
    ],
    [
      ["serve", "--admin-port", "0"],
      "--admin-port is given without a token: give --admin-token-file or GAS_WAIVER_ADMIN_TOKEN",
    ],
    [
      ["serve", "--host", "0.0.0.0"],
      "--host 0.0.0.0 can be reached from other machines: give --tls-cert and --tls-key, or --behind-proxy",
    ],
    [
      ["serve", "--metrics-port", "0", "--metrics-host", "10.0.0.1"],
      "--metrics-host 10.0.0.1 can be reached from other machines",
    ],
    [
      ["serve", "--admin-port", "0", "--admin-host", "admin.example"],
      "--admin-host admin.example can be reached from other machines",
    ],
    [["serve", "--tls-cert", import.meta.filename], "--tls-cert is given without --tls-key"],
    [["serve", "--policy-source", "both"], "--policy-source both needs --allowed-targets"],
    [["serve", "--max-batch-size", "300"], "--rate-burst is 200: a batch of --max-batch-size (300)"],
    [
      ["serve", "--queue-capacity", "198"],
      "--queue-capacity is 198, of which one API key may have 99: a batch",
    ],
  ])("refuses %j, whose settings contradict each other", async (argv, problem) => {
    const { status, err } = await call(argv, running());
    expect(status).toBe(2);
    expect(err).toContain(`  - ${problem}`);
  });

  it("refuses a database's URL of several hosts, which the driver does not know", async () => {
    for (const hosts of ["one,two", "user@one:5432,two:5432"]) {
      const env = { DATABASE_URL: `postgres://${hosts}/db` };
      const { status, err } = await call(["keys", "list"], { ...running(), env });
      expect(status).toBe(2);
      expect(err).toContain("  - DATABASE_URL names several hosts");
    }
  });

  it("lists missing and contradictory settings of serve without quoting a secret", async () => {
    const secret = "5ec2e7".repeat(10);
    const env = { GAS_WAIVER_KEYS: secret, DATABASE_URL: `mysql://user:${secret}@db`, GAS_WAIVER_PORT: "x" };
    const { status, err } = await call(["serve", "--data-dir", "d"], { ...running(), env });
    expect(status).toBe(2);
    expect(err).not.toContain(secret);
    expect(err.split("\n").slice(1, -1)).toEqual([
      expect.stringMatching(/^ {2}- --rpc-url URL or GAS_WAIVER_RPC_URL is missing/),
      expect.stringMatching(/^ {2}- --chain-id ID or GAS_WAIVER_CHAIN_ID is missing/),
      "  - GAS_WAIVER_KEYS holds no usable private key at position 1: 32 bytes of hex are needed",
      "  - DATABASE_URL is not a URL that begins with postgres:// or postgresql://",
      '  - GAS_WAIVER_PORT "x" is not a whole number from 0 to 65535',
      "  - --data-dir and DATABASE_URL are both given: the place of the store comes from one of them",
    ]);
  });

  it("exits with status 0 when it is interrupted before it starts", async () => {
    expect(await call(["dev", "--port", "0", "--rpc-port", "0"])).toEqual({ status: 0, out: "", err: "" });
  });
});
