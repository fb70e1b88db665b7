import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv } from "ajv";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { configSchema } from "../serve/configSchema.js";
import { readServeConfig, resolveServeConfig } from "../serve/serveConfig.js";
import type { Environment } from "./readSettings.js";

const KEY = "11".repeat(32);
const GOOD_API_KEY = "2dd2f5e1b3c94b7f86a0e3d15c7790ab";
const MINIMAL = `rpc-url: http://127.0.0.1:8545
chain-id: 2201
waiver-key-file: key
`;

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gas-waiver-config-"));
  path = join(folder, "gas-waiver.yaml");
  writeFileSync(join(folder, "key"), KEY, { mode: 0o600 });
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(content: string, mode = 0o600): void {
  writeFileSync(path, content);
  chmodSync(path, mode);
}
const read = (argv: readonly string[] = [], env: Environment = {}) =>
  readServeConfig(["--config", path, ...argv], env).config;
/** The problems, without the path of the file in front of their places. */
const problemsOf = (content: string, env: Environment = {}, argv: readonly string[] = []) => {
  write(content);
  const { problems } = resolveServeConfig(["--config", path, ...argv], env);
  return problems.map((problem) => problem.replaceAll(`${path}:`, ""));
};

describe("a configuration file", () => {
  it("gives settings, over which variables win, and flags over both", () => {
    write(`${MINIMAL}port: 1\nhost: "::1"\nmetrics-port: 4\n`);
    const { shared, sources } = read(["--port", "3"], { GAS_WAIVER_PORT: "2", GAS_WAIVER_HOST: "localhost" });
    expect(shared).toMatchObject({ port: 3, host: "localhost", metricsPort: 4 });
    expect(sources.get("port")?.origin).toBe("flag");
    expect(sources.get("host")?.origin).toBe("environment");
    expect(sources.get("metricsPort")).toMatchObject({ origin: "file", place: { line: 6, column: 15 } });
  });

  it("with brackets too deep for the parser is refused", () => {
    expect(problemsOf(`port: 1\nallowed-targets: ${"[".repeat(50_000)}`)).toEqual([
      "1:1: the file is not YAML: its brackets are nested too deep",
    ]);
  });

  it("may be JSON, and may be named by a variable", () => {
    write(
      '{"rpc-url": ["http://a", "http://b"], "chain-id": 2201, "waiver-key-file": "key", "behind-proxy": true}',
    );
    const { shared, networks } = readServeConfig([], { GAS_WAIVER_CONFIG: path }).config;
    expect(networks[0]?.values.rpcUrl).toEqual(["http://a", "http://b"]);
    expect(shared.behindProxy).toBe(true);
  });

  it("takes targets as a list, or as the path of a file beside it", () => {
    const target = { address: `0x${"12".repeat(20)}`, selectors: ["0xa9059cbb"] };
    const [address, selectors] = [`"${target.address}"`, '["0xa9059cbb"]'];
    write(`${MINIMAL}allowed-targets:\n  - address: ${address}\n    selectors: ${selectors}\n`);
    const inline = read().networks[0]?.values.allowedTargets;
    writeFileSync(join(folder, "targets.json"), JSON.stringify([target]));
    write(`${MINIMAL}allowed-targets: targets.json\n`);
    expect(inline).toHaveLength(1);
    expect(read().networks[0]?.values.allowedTargets).toEqual(inline);
  });

  it("gives way to a flag or variable that excludes one of its settings", () => {
    write(`${MINIMAL}data-dir: data\n`);
    const { shared } = read([], { DATABASE_URL: "postgres://db/relay" });
    expect(shared).toMatchObject({ databaseUrl: "postgres://db/relay" });
    expect(shared.dataDir).toBeUndefined();
  });

  it("names all mistakes at once, each with its line, column, rule and value", () => {
    const mistakes = `rpc-url: ftp://node
chain-id: "2201"
waiver-key-file: missing
port: 80808
metrics-prot: 9090
port: 8081
behind-proxy: sometimes
log-level: loud
tls-cert: missing.pem
max-batch-size: 0
retention: 1d
cors-origins: [1]
admin-port:
`;
    expect(problemsOf(mistakes)).toEqual([
      '1:10: rpc-url "ftp://node" is not a URL that begins with http:// or https://',
      '2:11: chain-id "2201" is a text, and must be a whole number',
      `3:18: waiver-key-file "${join(folder, "missing")}" cannot be read: there is no such file`,
      '4:7: port "80808" is not a whole number from 0 to 65535',
      "5:1: metrics-prot is not a setting; there is metrics-port",
      "6:1: port is given twice; the first time is in line 4",
      '7:15: behind-proxy "sometimes" is a text, and must be true or false',
      '8:12: log-level "loud" is not one of trace, debug, info, warn, error, fatal, silent',
      `9:11: tls-cert "${join(folder, "missing.pem")}" cannot be read: there is no such file`,
      '10:17: max-batch-size "0" is not a whole number of at least 1',
      '11:12: retention "1d" is shorter than 3d; `forever` keeps all outcomes',
      "12:15: cors-origins [1] is a list, and must be a list of texts",
      '13:12: admin-port "" is empty, and must be a whole number',
    ]);
  });

  it("says of an address without quotes that YAML reads a number, and shows what was written", () => {
    const waiver = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
    const content = `${MINIMAL}web3signer-waivers: [${waiver}]\nrpc-url: [http://127.0.0.1:1, nonsense]\n`;
    const problems = problemsOf(content.replace(/^rpc-url: http.*\n/m, ""));
    expect(problems[0]).toContain(waiver);
    expect(problems[0]).toContain("put it in quotes");
    expect(problems[1]).toContain("at position 2 is not a URL");
  });

  it("leads rules between settings to their place", () => {
    expect(problemsOf(`${MINIMAL}admin-port: 1\nhost: 0.0.0.0\n`)).toEqual([
      "4:13: --admin-port is given without a token: give --admin-token-file or GAS_WAIVER_ADMIN_TOKEN",
      expect.stringMatching(/^5:7: --host 0\.0\.0\.0 can be reached from other machines/),
    ]);
  });

  it("is refused with its secrets behind a link into a folder where others can replace it", () => {
    const shared = join(folder, "shared");
    mkdirSync(shared);
    const file = join(shared, "real.yaml");
    writeFileSync(file, `${MINIMAL}api-keys: [${GOOD_API_KEY}]\n`, { mode: 0o600 });
    chmodSync(shared, 0o777);
    const link = join(folder, "link.yaml");
    symlinkSync(file, link);
    const { problems } = resolveServeConfig(["--config", link], {});
    expect(problems).toEqual([expect.stringContaining(`run \`chmod go-w ${shared}\``)]);
  });

  it("is refused with its secrets if others can read it, and never shows them", () => {
    const content = `${MINIMAL}api-keys: [${GOOD_API_KEY}, short-secret]\ndatabase-url: http://user:hidden@db\n`;
    const problems = problemsOf(content);
    expect(problems).toEqual([
      expect.stringMatching(/^4:11: api-keys holds a weak API key at position 2/),
      "5:15: database-url is not a URL that begins with postgres:// or postgresql://",
    ]);
    chmodSync(path, 0o644);
    const open = resolveServeConfig(["--config", path], {}).problems.join("\n");
    expect(open).toMatch(/:4:1: api-keys is a secret, and the file can be read .* run `chmod 600/);
    expect(open).toMatch(/:5:1: database-url is a secret, and the file can be read/);
    expect(`${open}${problems}`).not.toMatch(/short-secret|hidden/);
    expect(problemsOf(`api-keys: {a: top-secret}\n"top-secret: b\n`).join()).not.toContain("top-secret");
    expect(problemsOf(`${KEY}: a\n`)[0]).toContain("there is a key that is no setting");
  });

  it("is named with its mistakes without the keys in its URLs", () => {
    const login = "HTTPS://user:hidden@node/hidden?hidden";
    for (const urls of [
      `[${login}, https//typo/hidden]`,
      `["${login}", 5]`,
      `{${login}: 1}`,
      `" ${login},x"`,
    ]) {
      const problems = problemsOf(`rpc-url: ${urls}\n`).join();
      expect(problems).toContain("rpc-url");
      expect(problems).not.toContain("hidden");
    }
  });

  it("is refused where it is no YAML, is not there, or can be written by everybody", () => {
    expect(problemsOf('log-level: "info\nport: [1\n')).toEqual([
      expect.stringMatching(/^3:1: the file is not YAML here: /),
    ]);
    expect(problemsOf("just words")[0]).toBe(
      "1:1: the file has no settings: each is a line such as `port: 8080`",
    );
    write(MINIMAL, 0o602);
    expect(resolveServeConfig(["--config", path], {}).problems[0]).toMatch(/can be written by every user/);
    const { problems } = resolveServeConfig(["--config", join(folder, "none.yaml")], {});
    expect(problems[0]).toMatch(/^--config ".*none\.yaml" cannot be read: there is no such file/);
  });
});

describe("a configuration file with several networks", () => {
  const network = (name: string, id: number, more = "") =>
    `  - name: ${name}\n    chain-id: ${id}\n    rpc-url: http://node\n    waiver-key-file: key\n${more}`;

  it("gives each network its own values, beside those of the service", () => {
    write(`port: 1\nnetworks:\n${network("main", 988)}${network("test", 2201, "    host: test.example\n")}`);
    const { shared, networks } = read(["--log-level", "warn"]);
    expect(shared).toMatchObject({ port: 1, logLevel: "warn" });
    expect(networks.map(({ place, values }) => [place, values.chainId])).toEqual([
      [{ name: "main" }, 988],
      [{ name: "test", host: "test.example" }, 2201],
    ]);
  });

  it("names what stands in the wrong place, and what two networks share", () => {
    const content = `rpc-url: http://node\nnetworks:\n${network("main", 988, "    port: 1\n")}${network("main", 988)}  - path: /x\n`;
    const problems = problemsOf(content, { GAS_WAIVER_CHAIN_ID: "1" }, ["--reorg-depth", "2"]);
    expect(problems).toEqual([
      "1:1: rpc-url is a setting of a network: give it in each entry of networks",
      "7:5: port is a setting of the whole service: give it at the top level",
      expect.stringMatching(
        /^GAS_WAIVER_CHAIN_ID is of one network, and .* has a list of them: give it there/,
      ),
      expect.stringMatching(/^--reorg-depth is of one network/),
      expect.stringMatching(/^12:5: name is missing: Name of the network/),
      expect.stringMatching(/^12:5: --rpc-url URL .*is missing/),
      expect.stringMatching(/^12:5: --chain-id ID .*is missing/),
      expect.stringMatching(/^12:5: the custody of the waivers' keys is missing/),
      "8:5: two networks have the name main",
      "8:5: two networks have the path /main",
      "8:5: two networks have the chain-id 988",
      "8:5: two networks have the schema gas_waiver_main",
    ]);
  });
});

describe("the JSON Schema of the configuration file", () => {
  const validate = new Ajv({ allErrors: true }).compile(configSchema());

  it.each([
    [`${MINIMAL}port: 1\nrpc-url: [http://a]`.replace("rpc-url: http://127.0.0.1:8545\n", ""), true],
    ["networks:\n  - name: a\n    chain-id: 1\n", true],
    ["port: 80808", false],
    ["prot: 1", false],
    ['chain-id: "1"', false],
    ["log-level: loud", false],
    ["chain-id: 1\nnetworks:\n  - name: a\n", false],
    ["networks:\n  - chain-id: 1\n", false],
    ["name: a", false],
  ])("judges %j", (content, valid) => {
    expect(validate(parse(content)), JSON.stringify(validate.errors)).toBe(valid);
  });
});
