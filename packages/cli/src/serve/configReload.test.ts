import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WaiverAccount } from "@gas-waiver/protocol";
import {
  InvalidOptionsError,
  PinError,
  privateKeyWaiver,
  type ReloadableOptions,
  StartError,
} from "@gas-waiver/server";
import { afterEach, expect, it } from "vitest";
import { CommandFailedError } from "../errorMessage.js";
import type { OpenWaivers } from "../waivers/openWaivers.js";
import { ConfigReload } from "./configReload.js";
import { readServeConfig } from "./serveConfig.js";

const [FIRST, SECOND] = [1, 2].map((byte) => privateKeyWaiver(new Uint8Array(32).fill(byte))) as [
  WaiverAccount,
  WaiverAccount,
];
const NETWORK = "chain-id: 988\nrpc-url: http://127.0.0.1:1\n";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** A service that runs with the settings of a file, and whose custodies a test opens. */
function setUp(content: string) {
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-reload-"));
  folders.push(folder);
  const file = join(folder, "gas-waiver.yaml");
  const write = (text: string) => writeFileSync(file, text, { mode: 0o600 });
  write(content);
  const output = new EventEmitter<{ line: [string] }>();
  const lines: string[] = [];
  const argv = ["--config", file];
  const print = (line: string) => {
    lines.push(line);
    output.emit("line", line);
  };
  const disk = { fails: false };
  const env = {
    get GAS_WAIVER_RATE(): string | undefined {
      if (disk.fails) throw new Error("gone");
      return undefined;
    },
  };
  const reload = new ConfigReload({
    argv,
    config: readServeConfig(argv, {}).config,
    context: { env, print },
  });
  const openings: {
    readonly values: Parameters<OpenWaivers>[0];
    resolve(waivers: readonly WaiverAccount[]): void;
    reject(error: Error): void;
  }[] = [];
  const open: OpenWaivers = (values) =>
    new Promise((resolve, reject) => openings.push({ values, resolve, reject }));
  const applied: [network: string, ReloadableOptions][] = [];
  const used: [network: string, readonly WaiverAccount[]][] = [];
  const noted: (readonly string[])[] = [];
  const target = {
    setOptionsOfAll: async (changed: Readonly<Record<string, ReloadableOptions>>) =>
      void applied.push(...Object.entries(changed)),
    setWaivers: async (network: string, waivers: readonly WaiverAccount[]) =>
      void used.push([network, waivers]),
    setCertificate: () => {},
    noteReload: (problems: readonly string[], news: readonly string[]) =>
      void noted.push([...problems, ...news]),
  };
  let read = 0;
  /** The next line that the test has not read yet. */
  const line = async () => {
    if (read === lines.length) await once(output, "line");
    return lines[read++];
  };
  return { write, disk, reload, open, openings, target, applied, used, noted, line, lines };
}

it("takes over keys of a cloud that are added, once they can be used, and tries again what failed", async () => {
  const { write, reload, open, openings, target, used, line } = setUp(`${NETWORK}waiver-kms: [alias/one]\n`);
  reload.begin(target, new Map([["", open]]));
  write(`${NETWORK}waiver-kms: [alias/one, alias/two]\n`);
  reload.all();
  await new Promise(setImmediate);
  openings[0]?.reject(new Error("alias/two is away"));
  expect(await line()).toBe("the waiver keys stay as they were: alias/two is away");
  await new Promise(setImmediate);
  reload.all();
  await new Promise(setImmediate);
  expect(openings[1]?.values).toMatchObject({
    chainId: 988,
    waiverKms: [{ key: "alias/one" }, { key: "alias/two" }],
  });
  openings[1]?.resolve([FIRST, SECOND]);
  expect(await line()).toBe("2 waiver key(s) read again");
  expect(used).toEqual([["", [FIRST, SECOND]]]);
  await new Promise(setImmediate);
  reload.all();
  expect(await line()).toBe("the settings are those in force");
  expect(openings).toHaveLength(2);
});

it("tries again by itself what a store or a custody that was away refused, says so once, and repeats no mistake", async () => {
  const { write, reload, open, openings, target, used, noted, lines } = setUp(
    `${NETWORK}waiver-kms: alias/one\n`,
  );
  let storeTrouble: Error | undefined = new Error("Connection terminated unexpectedly");
  const setWaivers = async (network: string, waivers: readonly WaiverAccount[]) => {
    if (storeTrouble) throw storeTrouble;
    used.push([network, waivers]);
  };
  reload.begin({ ...target, setWaivers }, new Map([["", open]]));
  write(`${NETWORK}waiver-kms: alias/two\n`);
  /** Looks, and opens the custody if it is asked for. */
  const look = async () => {
    const before = openings.length;
    reload.look();
    await new Promise(setImmediate);
    openings[before]?.resolve([SECOND]);
    await new Promise(setImmediate);
    return openings.length - before;
  };
  reload.all();
  await new Promise(setImmediate);
  openings[0]?.resolve([SECOND]);
  await new Promise(setImmediate);
  expect([await look(), await look()]).toEqual([1, 1]);
  const refused = "the waiver keys stay as they were: Connection terminated unexpectedly";
  expect([lines, noted, used]).toEqual([[refused], [[refused]], []]);
  storeTrouble = undefined;
  expect([await look(), await look()]).toEqual([1, 0]);
  expect(used).toEqual([["", [SECOND]]]);
  expect(noted.at(-1)).toEqual(["1 waiver key(s) read again"]);
  storeTrouble = new InvalidOptionsError(["another network has the waiver"]);
  reload.waivers("");
  await new Promise(setImmediate);
  openings.at(-1)?.resolve([SECOND]);
  await new Promise(setImmediate);
  expect(lines.at(-1)).toBe(
    "the waiver keys stay as they were: the options of the service are wrong: another network has the waiver",
  );
  expect(await look()).toBe(0);
});

it("tries no PIN again by itself that a token has refused: it locks after a few", async () => {
  const { reload, open, openings, target, lines } = setUp(`${NETWORK}waiver-kms: alias/one\n`);
  reload.begin(target, new Map([["", open]]));
  reload.waivers("");
  await new Promise(setImmediate);
  const refused = new StartError("the token cannot be used", { cause: new PinError("the PIN is wrong") });
  openings[0]?.reject(new CommandFailedError(refused.message, { cause: refused }));
  await new Promise(setImmediate);
  expect(lines).toEqual(["the waiver keys stay as they were: the token cannot be used"]);
  reload.look();
  await new Promise(setImmediate);
  expect(openings).toHaveLength(1);
});

it("goes on after a reload that fails in an unforeseen way", async () => {
  const { write, disk, reload, open, target, noted, line } = setUp(
    `${NETWORK}waiver-kms: alias/one\nrate: 10\nrate-burst: 100\n`,
  );
  reload.begin(target, new Map([["", open]]));
  disk.fails = true;
  reload.all();
  expect(await line()).toBe("the reload failed, and the settings in force stay: gone");
  await new Promise(setImmediate);
  expect(noted).toEqual([["the reload failed, and the settings in force stay: gone"]]);
  disk.fails = false;
  write(`${NETWORK}waiver-kms: alias/one\nrate: 11\nrate-burst: 100\n`);
  reload.all();
  expect(await line()).toBe("these settings are taken over: rate");
  await new Promise(setImmediate);
  expect(noted[1]).toEqual(["these settings are taken over: rate"]);
  write(`${NETWORK}waiver-kms: alias/one\nrate: many\n`);
  reload.all();
  await line();
  await new Promise(setImmediate);
  expect(noted[2]).toEqual([expect.stringContaining("many")]);
});

it("reads keys once for many requests, after the reading before, and those of the network that is asked for", async () => {
  const entry = (name: string, chainId: number) =>
    `  - { name: ${name}, chain-id: ${chainId}, rpc-url: "http://127.0.0.1:1", waiver-kms: alias/${name} }\n`;
  const { reload, open, openings, target, used, line } = setUp(
    `networks:\n${entry("one", 988)}${entry("two", 2201)}`,
  );
  for (let i = 0; i < 5; i++) reload.waivers("two");
  expect(openings).toHaveLength(0);
  reload.begin(
    target,
    new Map([
      ["one", open],
      ["two", open],
    ]),
  );
  for (let i = 0; i < 5; i++) reload.waivers("two");
  expect(openings).toHaveLength(1);
  openings[0]?.resolve([FIRST, SECOND]);
  expect(await line()).toBe("network two: 2 waiver key(s) read again");
  await new Promise(setImmediate);
  expect(openings).toHaveLength(2);
  openings[1]?.resolve([FIRST]);
  await line();
  await new Promise(setImmediate);
  expect(openings).toHaveLength(2);
  expect(used).toEqual([
    ["two", [FIRST, SECOND]],
    ["two", [FIRST]],
  ]);
});

it("names what needs a restart each time, by its network, and applies the rest; secrets are named alone", async () => {
  const list = (rate: number, more: string, ofNetwork: string) =>
    `rate: ${rate}\n${more}\nnetworks:\n  - { name: one, waiver-kms: alias/one, ${ofNetwork} }\n`;
  const ofNetwork = 'chain-id: 988, rpc-url: "http://127.0.0.1:1"';
  const { write, reload, open, target, applied, line, lines } = setUp(list(100, "port: 0", ofNetwork));
  reload.begin(target, new Map([["one", open]]));
  const other = 'chain-id: 988, rpc-url: "http://127.0.0.1:2", max-in-flight: 7';
  write(list(200, `port: 1\napi-keys: [2dd2f5e1b3c94b7f86a0e3d15c7790ab]`, other));
  reload.all();
  await line();
  await line();
  await new Promise(setImmediate);
  reload.all();
  await line();
  const restart = "these settings need a restart: networks.one.rpc-url, port";
  expect(lines).toEqual([
    restart,
    "these settings are taken over: networks.one.max-in-flight, api-keys, rate",
    restart,
  ]);
  expect(applied).toEqual([["one", expect.objectContaining({ ratePerSecond: 200, maxInFlight: 7 })]]);
});

it("takes over no certificate and no targets where there were none, and none of what a file with a mistake says", async () => {
  const { write, reload, open, target, applied, line, lines } = setUp(`${NETWORK}waiver-kms: alias/one\n`);
  reload.begin(target, new Map([["", open]]));
  const targets = 'allowed-targets: [{ address: "*" }]\n';
  write(`${NETWORK}waiver-kms: alias/one\n${targets}`);
  reload.all();
  expect(await line()).toBe("these settings need a restart: allowed-targets");
  await new Promise(setImmediate);
  write(`${NETWORK}waiver-kms: alias/two\nrate: 5\nrate-burst: 1\n`);
  reload.all();
  await new Promise(setImmediate);
  expect(lines.slice(1)).toEqual([
    "the settings have mistakes, and those in force stay:",
    expect.stringContaining("rate-burst is 1"),
  ]);
  expect(applied).toEqual([]);
});

it("takes over all that has changed or nothing: a custody that cannot be opened leaves rates and certificate as they were", async () => {
  const { write, reload, open, openings, target, applied, used, line } = setUp(
    `${NETWORK}waiver-kms: alias/one\nrate: 10\nrate-burst: 100\n`,
  );
  reload.begin(target, new Map([["", open]]));
  write(`${NETWORK}waiver-kms: alias/two\nrate: 11\nrate-burst: 100\n`);
  reload.all();
  await new Promise(setImmediate);
  openings[0]?.reject(new Error("alias/two is away"));
  expect(await line()).toBe("the waiver keys stay as they were: alias/two is away");
  expect(await line()).toBe("these settings stay as they were: rate: waiver keys cannot be read");
  expect([applied, used]).toEqual([[], []]);
  await new Promise(setImmediate);
  reload.all();
  await new Promise(setImmediate);
  openings[1]?.resolve([SECOND]);
  expect(await line()).toBe("these settings are taken over: rate");
  expect(await line()).toBe("1 waiver key(s) read again");
  expect(applied).toEqual([["", expect.objectContaining({ ratePerSecond: 11 })]]);
  expect(used).toEqual([["", [SECOND]]]);
});
