import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDevnet, type Devnet, devnetAccount, TEST_TOKEN_ADDRESS } from "@gas-waiver/devnet";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { run } from "../run.js";

const NEWCOMER = devnetAccount(12).address;
const WAIVER = devnetAccount(10).address;
const validator = (i: number) => devnetAccount(20 + i).address;
const WEEK_MS = 7 * 24 * 3600 * 1000;

const folder = mkdtempSync(join(tmpdir(), "gas-waiver-governance-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}
const policy = [{ address: TEST_TOKEN_ADDRESS.toLowerCase(), selectors: ["0xa9059cbb"] }, { address: "*" }];
const targets = file("targets.json", JSON.stringify(policy));
const noTargets = file("nothing.json", "[]");
const targetWithoutSelectors = file(
  "useless.json",
  JSON.stringify([{ address: "*" }, { address: "*", selectors: [] }]),
);

describe("gas-waiver governance", () => {
  let devnet: Devnet;
  let url: string;
  let nowMs = 1_700_000_000_000;
  beforeEach(async () => {
    nowMs = 1_700_000_000_000;
    devnet = await createDevnet({ blockTimeMs: 0, now: () => nowMs });
    ({ url } = await devnet.listen({ port: 0 }));
  });
  afterEach(() => devnet.close());

  async function runGovernance(
    argv: readonly string[],
    env: Record<string, string> = { GAS_WAIVER_RPC_URL: url },
  ) {
    const out: string[] = [];
    const err: string[] = [];
    const status = await run(["governance", ...argv], {
      env,
      signal: new AbortController().signal,
      print: (line) => out.push(line),
      printError: (line) => err.push(line),
      write: async () => {},
    });
    return { status, out: out.join("\n"), err: err.join("\n") };
  }

  async function json(...argv: string[]) {
    const { status, out, err } = await runGovernance([...argv, "--json"]);
    expect({ status, err }).toEqual({ status: 0, err: "" });
    return JSON.parse(out);
  }

  const propose = (...argv: string[]) => json("propose", ...argv, "--dev-validator", "0");
  const vote = (id: number, by: number, choice = "--yes") =>
    json("vote", "--proposal", String(id), choice, "--dev-validator", String(by));

  async function proposeAndCarry(...argv: string[]) {
    const { id } = await propose(...argv);
    for (const by of [0, 1, 2]) await vote(id, by);
    return json("show", "--proposal", String(id));
  }

  it("takes the service's own file, of whose nodes one may be away", async () => {
    const config = file("gas-waiver.yaml", `rpc-url: [http://127.0.0.1:1, "${url}"]\nchain-id: 2201\n`);
    const { status, out, err } = await runGovernance(["list", "--config", config], {});
    expect({ status, err }).toEqual({ status: 0, err: "" });
    expect(out).toBe((await runGovernance(["list"])).out);
  });

  it("asks no node of this machine where the file has several networks", async () => {
    const entries = ["one", "two"].map((name) => `  - {name: ${name}, rpc-url: "${url}", chain-id: 2201}\n`);
    const config = file("networks.yaml", `networks:\n${entries.join("")}`);
    expect(await runGovernance(["list", "--config", config], {})).toMatchObject({
      status: 2,
      err: expect.stringContaining(`${config} has a list of networks: give --rpc-url`),
    });
    expect((await runGovernance(["list", "--config", config])).status).toBe(0);
  });

  it("reads the registry of genesis without a key", async () => {
    const { waivers, validators, proposals } = await json("list");
    expect(waivers.map(({ address }: { address: string }) => address)).toEqual([
      WAIVER,
      devnetAccount(11).address,
    ]);
    expect(waivers[0].targets).toEqual([
      { address: TEST_TOKEN_ADDRESS.toLowerCase(), selectors: ["0xa9059cbb", "0x23b872dd", "0x095ea7b3"] },
    ]);
    expect(validators).toEqual([0, 1, 2, 3].map(validator));
    expect(proposals).toEqual([]);
    const { out } = await runGovernance(["list"]);
    expect(out).toContain(`  ${WAIVER}\n    ${TEST_TOKEN_ADDRESS}  0xa9059cbb 0x23b872dd 0x095ea7b3`);
    expect(out).toContain("No open proposals.");
  });

  it("registers a waiver by three votes of four, and counts the missing votes after each", async () => {
    const proposal = await propose("--register", NEWCOMER, "--targets", targets);
    expect(proposal).toEqual({
      id: 1,
      kind: "register waiver",
      status: "open",
      subject: NEWCOMER,
      proposer: validator(0),
      expiresAt: new Date(nowMs + WEEK_MS).toISOString(),
      targets: policy,
      votes: [0, 1, 2, 3].map((i) => ({ validator: validator(i), vote: "none" })),
      yes: 0,
      no: 0,
      needed: 3,
    });
    expect(await vote(1, 3, "--no")).toMatchObject({ yes: 0, no: 1, status: "open" });
    expect(await vote(1, 3)).toMatchObject({ yes: 1, no: 0 });
    expect(await vote(1, 1)).toMatchObject({ yes: 2, status: "open" });
    expect((await runGovernance(["list"])).out).toContain(
      `proposal 1: register waiver ${NEWCOMER}; 2 of 4 validators are for it, 1 more must be`,
    );
    expect(await vote(1, 2)).toMatchObject({ yes: 3, status: "carried" });
    const { waivers, proposals } = await json("list");
    expect(waivers).toContainEqual({ address: NEWCOMER, targets: policy });
    expect(proposals).toEqual([]);
  });

  it("updates and revokes a waiver, and adds and removes a validator", async () => {
    expect(await proposeAndCarry("--update", WAIVER, "--targets", noTargets)).toMatchObject({
      status: "carried",
    });
    expect((await runGovernance(["list"])).out).toContain(`${WAIVER}\n    may send nothing`);
    expect(await proposeAndCarry("--revoke", WAIVER)).toMatchObject({
      kind: "revoke waiver",
      status: "carried",
    });
    expect((await json("list")).waivers).toHaveLength(1);
    expect(await proposeAndCarry("--add-validator", NEWCOMER)).toMatchObject({ kind: "add validator" });
    expect((await json("list")).validators).toContain(NEWCOMER);
    const { id } = await propose("--remove-validator", NEWCOMER);
    for (const by of [0, 1, 2, 3]) await vote(id, by);
    expect((await json("list")).validators).not.toContain(NEWCOMER);
  });

  it("allows a further target beside the others: at once with --dev, by votes otherwise, and proposes nothing in vain", async () => {
    const target = devnetAccount(9).address;
    const allow = (...argv: string[]) => json("allow", "--waiver", WAIVER, "--target", target, ...argv);
    const selectors = ["--selectors", "mint(address,uint256),0x12345678"];
    expect(await allow(...selectors, "--dev")).toMatchObject({ kind: "update waiver", status: "carried" });
    const [{ targets: allowed }] = (await json("list")).waivers;
    expect(allowed).toContainEqual({
      address: target.toLowerCase(),
      selectors: ["0x12345678", "0x40c10f19"],
    });
    expect(allowed).toContainEqual(expect.objectContaining({ address: TEST_TOKEN_ADDRESS.toLowerCase() }));
    expect(await allow(...selectors, "--dev")).toBe(null);
    expect(await allow("--dev-validator", "1")).toMatchObject({ status: "open", yes: 0 });
    const unknown = ["allow", "--waiver", NEWCOMER, "--target", "*", "--dev"];
    expect((await runGovernance(unknown)).err).toContain("is not a registered waiver");
    for (const wrong of ["0x1234", "mint(address,uint)", "mint(addres)", "mint(address to)"]) {
      const { err } = await runGovernance([...unknown, "--selectors", wrong]);
      expect(err, wrong).toContain("neither a selector of 4 bytes nor a signature");
    }
  });

  it("reads the key from a file that a flag or a variable names, and never prints it", async () => {
    const key = file("validator.key", `${devnetAccount(21).privateKey}\n`);
    const env = { GAS_WAIVER_RPC_URL: url, GAS_WAIVER_VALIDATOR_KEY_FILE: key };
    const { out } = await runGovernance(["propose", "--revoke", WAIVER], env);
    expect(out).toContain(`proposer  ${validator(1)}`);
    const both = file("both.key", `${devnetAccount(20).privateKey},${devnetAccount(21).privateKey}`);
    const { status, err } = await runGovernance([
      "vote",
      "--proposal",
      "1",
      "--yes",
      "--validator-key-file",
      both,
    ]);
    expect(status).toBe(2);
    expect(err).toContain("holds more than one private key");
    expect(err).not.toContain(devnetAccount(20).privateKey.slice(2, 20));
  });

  it("warns of an address in lower case, and names its checksum", async () => {
    const update = (path: string) => [
      "propose",
      "--update",
      WAIVER,
      "--targets",
      path,
      "--dev-validator",
      "0",
    ];
    expect((await runGovernance(update(targets))).out).toMatch(
      new RegExp(`^warning: .* write ${TEST_TOKEN_ADDRESS}$`, "m"),
    );
    const checked = file("checked.json", JSON.stringify([{ address: TEST_TOKEN_ADDRESS }, { address: "*" }]));
    expect((await runGovernance(update(checked))).out).not.toContain("warning");
  });

  it("explains a refusal of the registry in one sentence", async () => {
    const outsider = file("outsider.key", devnetAccount(13).privateKey);
    await propose("--revoke", WAIVER);
    await vote(1, 0);
    const by = ["--dev-validator", "0"];
    const asOutsider = ["--validator-key-file", outsider];
    const refusals: [string[], string][] = [
      [
        ["vote", "--proposal", "1", "--yes", ...by],
        `${validator(0)} has already cast the same vote on proposal 1`,
      ],
      [["vote", "--proposal", "1", "--yes", ...asOutsider], "is not a validator"],
      [["propose", "--revoke", WAIVER, ...asOutsider], "is not a validator"],
      [["vote", "--proposal", "8", "--no", ...by], "there is no proposal 8"],
      [["show", "--proposal", "8"], "there is no proposal 8"],
      [["propose", "--register", WAIVER, "--targets", targets, ...by], "is a registered waiver already"],
      [["propose", "--revoke", NEWCOMER, ...by], "is not a registered waiver"],
      [["propose", "--add-validator", validator(1), ...by], "is a validator already"],
    ];
    for (const [argv, message] of refusals) {
      const { status, out, err } = await runGovernance(argv);
      expect({ status, out }).toEqual({ status: 1, out: "" });
      expect(err).toMatch(/^gas-waiver: [^\n]*$/);
      expect(err).toContain(message);
    }
    nowMs += WEEK_MS + 1_000;
    await devnet.mine();
    const late = await runGovernance(["vote", "--proposal", "1", "--yes", "--dev-validator", "1"]);
    expect(late.err).toContain("proposal 1 has expired: it could be voted on until 2023-11-21T");
    expect((await json("show", "--proposal", "1")).status).toBe("expired");
  });

  it("lists all problems of the arguments at once", async () => {
    const missing = join(folder, "missing.json");
    const argv = ["propose", "--register", "0x12", "--revoke", WAIVER, "--targets", missing, "--x"];
    const { status, err } = await runGovernance([...argv, "--dev-validator", "4"]);
    expect(status).toBe(2);
    expect(err.split("\n")).toEqual([
      "gas-waiver governance propose cannot start with these settings:",
      "  - --x is not a flag of this command",
      '  - --register "0x12" is not an address: 0x and 40 hex digits are needed',
      expect.stringMatching(/^ {2}- --targets ".*" cannot be read: there is no such file$/),
      '  - --dev-validator "4" is not a whole number from 0 to 3',
      "  - --register and --revoke are both given: what is proposed comes from one of them",
      "gas-waiver governance propose --help shows them all.",
    ]);
  });

  it.each([
    [["propose", "--register", NEWCOMER, "--dev-validator", "0"], "--register needs --targets FILE"],
    [["propose", "--revoke", WAIVER, "--targets", targets, "--dev-validator", "0"], "--targets belongs to"],
    [
      ["propose", "--update", WAIVER, "--targets", targetWithoutSelectors, "--dev-validator", "0"],
      "the selectors of allowed target 1 are an empty list, which permits nothing",
    ],
    [["propose", "--dev-validator", "0"], "what is proposed is missing"],
    [["vote", "--proposal", "0", "--yes"], '--proposal "0" is not a whole number'],
    [["vote", "--proposal", "1", "--yes", "--no", "--dev-validator", "0"], "--yes and --no are both given"],
    [["vote", "--proposal", "1", "--yes"], "give --validator-key-file FILE or GAS_WAIVER_VALIDATOR_KEY_FILE"],
  ])("refuses %j", async (argv, message) => {
    const { status, err } = await runGovernance(argv);
    expect(status).toBe(2);
    expect(err).toContain(message);
  });

  it.each([
    ["--help"],
    ["list", "--help"],
    ["show", "-h"],
    ["propose", "--help"],
    ["vote", "--help"],
    ["allow", "--help"],
  ])("prints help for %j %j", async (...argv) => {
    const { status, out } = await runGovernance(argv);
    expect(status).toBe(0);
    expect(out).toMatch(/^Usage: gas-waiver governance/);
    expect(out.split("\n").filter((line) => line.length > 110)).toEqual([]);
  });

  it("lists its commands if none or an unknown one is given", async () => {
    for (const argv of [[], ["veto"]]) {
      const { status, err } = await runGovernance(argv);
      expect(status).toBe(2);
      expect(err).toMatch(/list .*\n.*show .*\n.*propose .*\n.*vote /);
    }
  });
});

describe("gas-waiver governance without a working registry", () => {
  async function list(rpcUrl: string) {
    const err: string[] = [];
    const status = await run(["governance", "list", "--rpc-url", rpcUrl], {
      env: {},
      signal: new AbortController().signal,
      print: () => {},
      printError: (line) => err.push(line),
      write: async () => {},
    });
    return { status, err: err.join("\n") };
  }

  /** Runs a server that answers every request with the same body. */
  async function withServer<T>(body: string, use: (url: string) => Promise<T>): Promise<T> {
    const server = createServer((_, response) => response.end(body));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  }

  it.each([
    [
      "a chain without a registry",
      '{"jsonrpc":"2.0","id":1,"result":"0x"}',
      "this chain has no WaiverRegistry",
    ],
    ["text that is not JSON", "hello", "is not a JSON-RPC node"],
    ["other JSON", "[]", "is not a JSON-RPC node"],
    [
      "an error",
      '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"busy"}}',
      "the node returned an error: busy",
    ],
  ])("reports %s", async (_, body, message) => {
    const { status, err } = await withServer(body, list);
    expect(status).toBe(1);
    expect(err).toContain(message);
    expect(err).not.toContain("secret-path");
  });

  it("reports a node that cannot be reached", async () => {
    const closed = await withServer("", async (url) => url);
    expect((await list(closed)).err).toMatch(
      /^gas-waiver: the node at 127\.0\.0\.1:\d+ cannot be reached: ECONNREFUSED/,
    );
  });
});
