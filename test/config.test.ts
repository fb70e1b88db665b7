// A service with a configuration file: its start, `config check` and `config print`.
import { writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { STABLE_NETWORKS } from "@gas-waiver/protocol";
import { type HDNodeWallet, keccak256 } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDisk, verdictOfRoom } from "../packages/cli/src/configCheck/checkPlace.js";
import { makeCertificate } from "../packages/server/test/support/certificate.js";
import { gasWaiver } from "./support/commandLine.js";
import { freshFolder } from "./support/freshFolder.js";
import { account, CHAIN_ID } from "./support/user.js";

const folder = freshFolder();
const path = join(folder, "gas-waiver.yaml");
let devnet: Devnet;
let rpcUrl: string;
let busy: Server;
let busyPort: number;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
  busy = createServer();
  await new Promise<void>((done) => busy.listen(0, "127.0.0.1", done));
  busyPort = (busy.address() as { port: number }).port;
  writeFileSync(join(folder, "key"), account(10).privateKey, { mode: 0o600 });
  const expired = makeCertificate({ validTo: new Date(Date.now() - 1_000) });
  writeFileSync(join(folder, "cert.pem"), expired.cert);
  writeFileSync(join(folder, "key.pem"), expired.key, { mode: 0o600 });
});
afterAll(async () => {
  busy?.close();
  await devnet?.close();
});

const network = (chainId: number) => `rpc-url: ${rpcUrl}\nchain-id: ${chainId}\nwaiver-key-file: key\n`;

/** Runs a command of the program to its end. */
const call = (...argv: string[]) => gasWaiver(argv).result();

/** A Web3Signer that lists the keys of some accounts, and signs for all of them with one; without one, it never answers. */
async function startSigner({ lists, signsWith }: { lists: HDNodeWallet[]; signsWith?: HDNodeWallet }) {
  const server = createHttpServer(async (request, response) => {
    const publicKeyOf = ({ signingKey }: HDNodeWallet) => `0x${signingKey.publicKey.slice(4)}`;
    if (request.url?.endsWith("/publicKeys")) return response.end(JSON.stringify(lists.map(publicKeyOf)));
    const { data } = JSON.parse(await text(request)) as { data: string };
    if (signsWith === undefined) return;
    return response.end(signsWith.signingKey.sign(keccak256(data)).serialized);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

let files = 0;
async function serve(content: string) {
  const file = join(folder, `${files++}-gas-waiver.yaml`);
  writeFileSync(file, content, { mode: 0o600 });
  const { status, err } = await gasWaiver(["serve", "--config", file]).result();
  return { status, err };
}

describe("gas-waiver serve --config", () => {
  it("names ten mistakes of a file in ten messages, and starts nothing", async () => {
    const mistakes = `${network(CHAIN_ID)}port: 80808
prot: 1
port: 2
log-level: loud
behind-proxy: perhaps
max-batch-size: 0
retention: 1d
cors-origins: [1]
api-keys: [short]
admin-tokens: [aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]
`;
    const { status, err } = await serve(mistakes);
    const problems = err.split("\n").filter((line) => line.startsWith("  - "));
    expect(status).toBe(2);
    expect(problems).toHaveLength(10);
    for (const problem of problems) expect(problem).toMatch(/gas-waiver\.yaml:\d+:\d+: /);
    expect(err).toContain("admin-tokens holds at position 1 a weak token");
  });

  it("refuses a port in use, an expired certificate and a node of another chain in one message each", async () => {
    const [port, certificate, chain] = await Promise.all([
      serve(`${network(CHAIN_ID)}data-dir: a\nport: ${busyPort}\n`),
      serve(`${network(CHAIN_ID)}data-dir: b\nport: 0\ntls-cert: cert.pem\ntls-key: key.pem\n`),
      serve(`${network(988)}data-dir: c\nport: 0\nlog-level: silent\n`),
    ]);
    expect(port).toEqual({
      status: 1,
      err: `gas-waiver: port ${busyPort} of 127.0.0.1 is in use by another program\n`,
    });
    expect(certificate.status).toBe(2);
    expect(certificate.err).toMatch(/- tls\.cert has expired at .*: clients refuse it\n/);
    expect(chain.status).toBe(1);
    expect(chain.err).toMatch(
      /^gas-waiver: the node at \S+ is on chain 2201, the service is for chain 988\n$/,
    );
  });
});

describe("gas-waiver config check", () => {
  it("finds the troubles of each network, and those between them, at once", async () => {
    const signer = await startSigner({ lists: [account(10), account(11)], signsWith: account(11) });
    const entry = (name: string, rest: string) => `  - {name: ${name}, rpc-url: "${rpcUrl}", ${rest}}\n`;
    const addresses = [10, 11, 12].map((i) => `"${account(i).address}"`).join(", ");
    const remote = `web3signer-url: "${signer.url}", web3signer-waivers: [${addresses}]`;
    writeFileSync(join(folder, "open-url"), "postgres://127.0.0.1:1/relay", { mode: 0o644 });
    const file = join(folder, "troubled.yaml");
    writeFileSync(
      file,
      `port: 18080
metrics-port: 18080
database-url-file: open-url
networks:
${entry("one", `chain-id: ${CHAIN_ID}, schema: same, path: /rpc/one, ${remote}`)}\
${entry("two", `chain-id: 988, schema: same, path: /v1, passphrase-file: open-url, waiver-keystore: key`)}\
${entry("docs", `chain-id: 3, waiver-key-file: key`)}`,
    );
    const { out } = await call("config", "check", "--config", file, "--json");
    const { findings } = JSON.parse(out) as { findings: Record<string, string>[] };
    signer.close();
    const troubles = findings
      // Another program may have the port.
      .filter(({ verdict, area }) => verdict !== "ok" && area !== "nodes" && area !== "ports")
      .map(({ network, verdict, area, found }) => `${network ?? ""} ${area} ${verdict}: ${found}`);
    for (const [i, trouble] of [
      /yaml:2:15: --metrics-port and --port are both 18080: each needs a port of its own$/,
      /yaml:3:20: database-url-file .* can be read or written by other users/,
      /yaml:5:\d+: path "\/rpc\/one" is a path of the service itself$/,
      /yaml:6:\d+: path "\/v1" is a path of the service itself$/,
      /yaml:6:\d+: passphrase-file .* can be read or written by other users/,
      /yaml:6:\d+: waiver-keystore .* is not a keystore: it is not JSON$/,
      /yaml:7:\d+: name "docs" is a path of the service itself$/,
      /yaml:6:5: two networks have the schema same$/,
      /^ database not proven: the setting of its place cannot be used, so no database was tried$/,
      /^one custody refuses: the Web3Signer at \S+ has no key of the waiver 0x/,
      /^one custody refuses: the custody of 0x\w+ is of no use: .*signature/,
      /^two custody not proven: the settings of the custody cannot be used, so no key was tried$/,
    ].entries())
      expect(troubles[i]).toMatch(trouble);
    expect(troubles).toHaveLength(12);
    const waivers = findings.filter(({ network, check }) => network === "one" && check === "waivers");
    expect(waivers.map(({ found }) => found)).toEqual([
      expect.stringContaining("is registered with"),
      expect.stringContaining("is registered with"),
      expect.stringContaining("is not registered"),
    ]);
  });

  it("refuses a custody that is slower than its limit, and names the nodes of an address that cannot be used", async () => {
    const signer = await startSigner({ lists: [account(10)] });
    const file = join(folder, "slow.yaml");
    writeFileSync(
      file,
      `rpc-url: nonsense\nchain-id: ${CHAIN_ID}\ncustody-timeout: 100\nweb3signer-url: "${signer.url}"\nweb3signer-waivers: "${account(10).address}"\n`,
    );
    const { status, out } = await call("config", "check", "--config", file, "--json");
    signer.close();
    const { findings } = JSON.parse(out) as { findings: Record<string, string>[] };
    expect(status).toBe(1);
    expect(findings).toContainEqual(
      expect.objectContaining({
        ...{ area: "custody", verdict: "refuses" },
        found: expect.stringContaining("no answer within 100 ms"),
      }),
    );
    expect(findings.filter(({ area }) => area === "nodes")).toEqual([
      expect.objectContaining({ verdict: "not proven", found: expect.stringContaining("no node was asked") }),
    ]);
  });

  it("refuses a data folder that cannot be made, and a disk without room", async () => {
    const [inFile] = await checkDisk({ dataDir: join(folder, "key", "data") });
    expect(inFile).toMatchObject({
      check: "rights",
      verdict: "refuses",
      found: expect.stringMatching(/key is not a folder$/),
    });
    expect((await checkDisk({ dataDir: "/proc/data" }))[0]).toMatchObject({
      check: "rights",
      verdict: "refuses",
    });
    expect(verdictOfRoom(2 ** 20)).toMatchObject({ verdict: "refuses", found: "the disk is full" });
  });

  it("finds a key that a custody has twice, as the start does", async () => {
    const key = account(10).privateKey;
    writeFileSync(join(folder, "twice"), `${key}\n${key}\n`, { mode: 0o600 });
    const file = join(folder, "twice.yaml");
    writeFileSync(file, network(CHAIN_ID).replace("file: key", "file: twice"));
    const { status, out } = await call("config", "check", "--config", file);
    expect(status).toBe(1);
    expect(out).toMatch(/^ {2}refuses +signature +0x[0-9a-f]{40}: the custody has its key twice$/m);
  });

  it("finds all troubles at once, in each part of the service", async () => {
    const troubles = `port: ${busyPort}\ntls-cert: cert.pem\ntls-key: key.pem\nprot: 1\ndata-dir: data\n`;
    writeFileSync(path, `${network(988)}${troubles}`);
    const { status, out } = await call("config", "check", "--config", path, "--json");
    const { starts, findings } = JSON.parse(out);
    const refusals = findings.filter(({ verdict }: { verdict: string }) => verdict === "refuses");
    expect({ status, starts }).toEqual({ status: 1, starts: false });
    expect(refusals.map(({ area, check }: { area: string; check: string }) => [area, check])).toEqual([
      ["settings", "setting"],
      ["TLS", "certificate"],
      ["ports", "API"],
      ["nodes", "chain"],
    ]);
    expect(findings).toContainEqual(expect.objectContaining({ area: "custody", verdict: "ok" }));
    expect(findings).toContainEqual(expect.objectContaining({ area: "disk", check: "room" }));
  });

  it("refuses no port that a running service has: its settings are checked before it reads them again", async () => {
    const [file, tokens] = [join(folder, "running.yaml"), join(folder, "tokens")];
    const certificate = makeCertificate();
    writeFileSync(join(folder, "own.pem"), certificate.cert);
    writeFileSync(join(folder, "own-key.pem"), certificate.key, { mode: 0o600 });
    writeFileSync(tokens, "a-token-of-operators-0123456789abcdef\n", { mode: 0o600 });
    const write = (api: string, metrics: string, admin: string) =>
      writeFileSync(
        file,
        `${network(CHAIN_ID)}data-dir: running\ntls-cert: own.pem\ntls-key: own-key.pem\nadmin-token-file: tokens
log-level: silent\nport: ${api}\nmetrics-port: ${metrics}\nadmin-port: ${admin}\n`,
        { mode: 0o600 },
      );
    write("0", "0", "0");
    const service = gasWaiver(["serve", "--config", file]);
    const { url } = await service.ready();
    const portIn = async (line: RegExp) => new URL((await service.line(line))[1] ?? "").port;
    write(new URL(url).port, await portIn(/^metrics at (\S+)/), await portIn(/^admin API at (\S+)/));
    const { status, out } = await call("config", "check", "--config", file, "--json");
    const { starts, findings } = JSON.parse(out) as { starts: boolean; findings: Record<string, string>[] };
    const isBad = ({ verdict }: Record<string, string>) => verdict === "refuses" || verdict === "warning";
    expect(findings.filter(isBad).map(({ area, check, found }) => [area, check, found])).toEqual(
      ["API", "metrics", "admin API"].map((check) => [
        "ports",
        check,
        "the port is held by a running gas-waiver, which may be this one",
      ]),
    );
    expect({ status, starts }).toEqual({ status: 0, starts: true });
    expect(await service.end()).toEqual({ status: 0, signal: null });
  });

  it("shows a table, and ends with 0 where the service would start", async () => {
    writeFileSync(path, `${network(CHAIN_ID)}port: 0\n`);
    const { status, out } = await call("config", "check", "--config", path);
    expect({ status, out }).toEqual({
      status: 0,
      out: expect.stringContaining("gas-waiver serve would start: "),
    });
    expect(out).toMatch(/^custody\n {2}ok +signature +0x[0-9a-f]{40}: it signs/m);
    expect(out).toMatch(/^nodes\n {2}ok +answers/m);
  });
});

describe("an address in lower case", () => {
  const CHECKSUM = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
  const warningsOf = async (chainId: number, address: string) => {
    const targets = `allowed-targets: [{address: "${address}", selectors: ["0xa9059cbb"]}]\n`;
    writeFileSync(path, `${network(chainId)}policy-source: both\nport: 0\n${targets}`);
    const { out } = await call("config", "check", "--config", path, "--json");
    const { findings } = JSON.parse(out) as { findings: Record<string, string>[] };
    return findings.filter(({ check }) => check === "checksum").map(({ verdict, found }) => [verdict, found]);
  };

  it("is a warning of config check with the checksum to write, where the chain asks for one", async () => {
    expect(await warningsOf(CHAIN_ID, CHECKSUM.toLowerCase())).toEqual([
      ["warning", expect.stringContaining(`write ${CHECKSUM}`)],
    ]);
    expect(await warningsOf(CHAIN_ID, CHECKSUM)).toEqual([]);
    expect(await warningsOf(31_337, CHECKSUM.toLowerCase())).toEqual([]);
  });
});

describe("gas-waiver serve --network", () => {
  const key = join(folder, "key");

  it.each([
    ["stable", 988],
    ["stable-testnet", 2201],
  ] as const)("%s gives the chain's facts, and what the operator sets wins", async (name, chainId) => {
    const { rpcUrl: publicUrl } = STABLE_NETWORKS[name];
    const print = async (...flags: string[]) => {
      const { out } = await call("config", "print", "--network", name, "--waiver-key-file", key, ...flags);
      const printed = (name: string) => new RegExp(`^${name} +(\\S+)`, "m").exec(out)?.[1];
      return ["chain-id", "reorg-depth", "rpc-rate"].map(printed);
    };
    expect(await print("--rpc-url", publicUrl)).toEqual([String(chainId), "0", "90"]);
    const own = ["--rpc-url", rpcUrl, "--reorg-depth", "2"];
    expect(await print(...own)).toEqual([String(chainId), "2", "0"]);
  });

  it("starts on a node of the network, and on no other", async () => {
    const serveOn = (name: string) => {
      const place = ["--port", "0", "--data-dir", join(folder, name), "--log-level", "silent"];
      const chain = ["--network", name, "--rpc-url", rpcUrl, "--waiver-key-file", key];
      return gasWaiver(["serve", ...chain, ...place]);
    };
    const refused = await serveOn("stable").result();
    expect(refused.err).toMatch(/is on chain 2201, the service is for chain 988\n$/);
    const service = serveOn("stable-testnet");
    const [, url = ""] = await service.line(/(http:\/\/127\.0\.0\.1:\d+)/);
    expect(await (await fetch(`${url}/v1/health`)).json()).toMatchObject({ chainId: 2201 });
    expect(await service.end()).toMatchObject({ status: 0 });
  });
});

describe("gas-waiver config print", () => {
  it("shows where a network of a list is, and its schema", async () => {
    const file = join(folder, "networks.yaml");
    const entry = `name: main-net\n${network(CHAIN_ID)}`.trim().replaceAll("\n", "\n    ");
    writeFileSync(file, `networks:\n  - ${entry}\n`);
    const { out } = await call("config", "print", "--config", file);
    expect(out).toMatch(/^networks\.main-net\.path +\/main-net +default$/m);
    expect(out).toMatch(/^networks\.main-net\.schema +gas_waiver_main_net +default$/m);
    expect(out).toMatch(/^rate +100 +default \(reloadable\)$/m);
  });

  it("shows each value and its origin, without secrets", async () => {
    const secret = "2dd2f5e1b3c94b7f86a0e3d15c7790ab";
    const url = '["https://user:pass-word@node.example/v2/node-secret", " HTTPS:b.example?node-secret"]';
    const file = join(folder, "print.yaml");
    writeFileSync(file, `${network(CHAIN_ID).replace(rpcUrl, url)}api-keys: [${secret}]\n`, { mode: 0o600 });
    const { out } = await call("config", "print", "--config", file, "--port", "1", "--json");
    const settings = JSON.parse(out);
    expect(settings).toMatchObject({
      "rpc-url": { value: "https://***@node.example/***, HTTPS:b.example/***", origin: `${file}:1:10` },
      "api-keys": { value: "***", origin: `${file}:4:11` },
      port: { value: "1", origin: "--port" },
      "log-level": { value: "info", origin: "default" },
      "rpc-ws-url": { origin: "default" },
    });
    expect(out).not.toMatch(/pass-word|node-secret|2dd2f5e1/);
    const table = await call("config", "print", "--config", file);
    expect(table.out).toMatch(/^port +8080 +default$/m);
  });
});
