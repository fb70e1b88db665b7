// The commands `gas-waiver lanes …` beside a running service; new waiver keys at SIGHUP; metrics.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandLine, gasWaiver } from "./support/commandLine.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { startService } from "./support/service.js";
import { submit } from "./support/submit.js";
import { account, transferOf } from "./support/user.js";

const [FIRST, SECOND] = [account(10), account(11)];
const [first, second] = [FIRST.address.toLowerCase(), SECOND.address.toLowerCase()];

interface LaneJson {
  readonly waiver: string;
  readonly state: string;
  readonly owner?: string;
  readonly reason?: string;
}

let devnet: Devnet;
let rpcUrl: string;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
});
afterAll(() => devnet?.close());

/** Runs `gas-waiver lanes …` to its end. */
const lanes = (...args: string[]) => gasWaiver(["lanes", ...args]).result();

async function list(dataDir: string): Promise<LaneJson[]> {
  const { status, out, err } = await lanes("list", "--data-dir", dataDir, "--json");
  expect({ status, err }).toEqual({ status: 0, err: "" });
  return JSON.parse(out);
}

const transfer = (user: number, nonce = 0) =>
  account(user).signTransaction(transferOf(account(7).address, 1n, nonce));

describe("gas-waiver lanes, beside a running service", () => {
  let dataDir: string;
  let ofFolder: string[];
  let service: CommandLine;
  beforeAll(async () => {
    dataDir = await dataFolder();
    ofFolder = ["--data-dir", dataDir];
    service = startService({ rpcUrl, dataDir });
    const { url } = await service.ready();
    const [line] = await submit(url, [await transfer(0)], { query: "?wait=included" });
    expect(line).toMatchObject({ success: true });
  });

  it("list shows each lane, for people and for programs", async () => {
    const { status, out } = await lanes("list", ...ofFolder);
    expect(status).toBe(0);
    expect(out).toMatch(
      new RegExp(`^${first}  open, worked by [0-9a-f-]{36}\n  0 queued; 0 signed or broadcast\n$`),
    );
    expect(await list(dataDir)).toEqual([
      expect.objectContaining({ waiver: first, state: "open", broken: false, queued: 0, underWay: 0 }),
    ]);
  });

  it("doctor finds nothing if store and chain agree, and needs a node", async () => {
    const { status, out } = await lanes("doctor", ...ofFolder, "--rpc-url", rpcUrl);
    expect(status).toBe(0);
    expect(out).toContain(
      "the chain's next nonce is 1; no nonce waits for a block\n  store and chain agree\n",
    );
    const json = await lanes("doctor", ...ofFolder, "--rpc-url", rpcUrl, "--json", "--repair");
    expect(JSON.parse(json.out)).toMatchObject([{ chainNonce: "1", findings: [], repaired: false }]);
    const withoutNode = await lanes("doctor", ...ofFolder);
    expect(withoutNode.status).toBe(2);
    expect(withoutNode.err).toContain("--rpc-url");
    const unreachable = await lanes("doctor", ...ofFolder, "--rpc-url", "http://127.0.0.1:1");
    expect(unreachable.status).toBe(1);
    expect(unreachable.err).toMatch(/^gas-waiver: [^\n]*node[^\n]*\n$/);
  });

  it("stop, open and drain change a lane's state; list shows the reason", async () => {
    expect(await lanes("stop", "--waiver", first, ...ofFolder)).toMatchObject({
      status: 0,
      out: `${first} is stopped\n`,
    });
    expect((await lanes("list", ...ofFolder)).out).toContain(`${first}  stopped`);
    expect((await lanes("list", ...ofFolder)).out).toContain("\n  because by the operator\n");
    expect((await lanes("open", "--waiver", FIRST.address, ...ofFolder)).out).toBe(
      `${first} takes work again\n`,
    );
    const opened = await list(dataDir);
    expect(opened).toMatchObject([{ state: "open" }]);
    expect(opened[0]).not.toHaveProperty("reason");
    const drained = await lanes("drain", "--waiver", first, "--json", ...ofFolder);
    expect(JSON.parse(drained.out)).toEqual({ waiver: first, state: "draining" });
    await lanes("open", "--waiver", first, ...ofFolder);
    const { url } = await service.ready();
    const [line] = await submit(url, [await transfer(1)], { query: "?wait=included" });
    expect(line).toMatchObject({ success: true });
  });

  it("refuse an unknown waiver, and a text that is not an address", async () => {
    const unknown = await lanes("stop", "--waiver", second, ...ofFolder);
    expect(unknown).toEqual({
      status: 1,
      out: "",
      err: `gas-waiver: the service has no lane for waiver ${second}\n`,
    });
    const wrong = await lanes("stop", "--waiver", "0x12", ...ofFolder);
    expect(wrong.status).toBe(2);
    expect(wrong.err).toContain("is not an address");
  });

  it("explain in one sentence that no service runs on a folder", async () => {
    const { status, err } = await lanes("list", "--data-dir", freshFolder());
    expect(status).toBe(1);
    expect(err).toMatch(/^gas-waiver: no service runs on the data folder [^\n]+\n$/);
  });
});

describe("a service on SIGHUP", () => {
  it("takes over new waiver keys and other settings, names those that need a restart, and changes nothing after a mistake", async () => {
    const dataDir = await dataFolder();
    const folder = freshFolder();
    const keyFile = join(folder, "keys");
    const config = join(folder, "gas-waiver.yaml");
    writeFileSync(config, "max-batch-size: 50\n");
    const write = (...keys: string[]) => writeFileSync(keyFile, `${keys.join("\n")}\n`, { mode: 0o600 });
    write(FIRST.privateKey);
    const service = startService({
      rpcUrl,
      dataDir,
      keyFile,
      flags: ["--metrics-port", "0", "--config", config],
    });
    const { url } = await service.ready();
    const [, metrics = ""] = await service.line(/^metrics at (\S+)/);

    write(FIRST.privateKey, SECOND.privateKey);
    writeFileSync(config, "max-batch-size: 1\nlog-level: info\nmax-sockets: 7\nmax-key-sockets: 5000\n");
    service.signal("SIGHUP");
    await service.line(/^2 waiver key\(s\) read again/);
    expect(service.stdout).toMatch(/^these settings need a restart: max-sockets$/m);
    // The flag --log-level wins over the file.
    expect(service.stdout).toMatch(/^these settings are taken over: max-batch-size$/m);
    const tooMany = await submit(url, ["0x", "0x"]).catch((error: Error) => error.message);
    expect(tooMany).toContain("413");
    write(SECOND.privateKey);
    service.signal("SIGHUP");
    await service.line(/^1 waiver key\(s\) read again/);
    const [line] = await submit(url, [await transfer(2)], { query: "?wait=included" });
    expect(line).toMatchObject({ success: true });
    const byWaiver = new Map((await list(dataDir)).map((lane) => [lane.waiver, lane]));
    expect(byWaiver.get(first)?.owner).toBeUndefined();
    expect(byWaiver.get(second)?.owner).toBeDefined();

    write("this is not a key");
    writeFileSync(config, "max-batch-size: 5\nrate: fast\n");
    service.signal("SIGHUP");
    await service.line(/^ {2}- .*gas-waiver\.yaml:2:7: rate /);
    await service.line(/^ {2}- --waiver-key-file .*\/keys" /);
    expect(service.stdout).toMatch(/^the settings have mistakes, and those in force stay:$/m);
    expect(service.stdout).not.toContain("this is not a key");
    const [afterWarning] = await submit(url, [await transfer(3)], { query: "?wait=included" });
    expect(afterWarning).toMatchObject({ success: true });

    const text = await (await fetch(metrics)).text();
    expect(text).toContain("gas_waiver_accepted_total 2");
    expect((await fetch(`${url}/metrics`)).status).toBe(404);
    expect(await service.end()).toEqual({ status: 0, signal: null });
  });
});
