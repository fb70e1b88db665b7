// The Dockerfile: its facts, and its last stage run as a container would, where Linux gives namespaces.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestPostgres } from "../../packages/server/test/support/testPostgres.js";
import { freshFolder } from "../support/freshFolder.js";
import { installedBy, type LockedPackages } from "../support/lockFile.js";
import { root } from "../support/program.js";
import { API_KEY, account, CHAIN_ID } from "../support/user.js";
import { readDockerfile } from "./dockerfile.js";
import { freePort } from "./freePort.js";
import { canIsolate, LocalImage } from "./localContainer.js";

const { args, stages } = readDockerfile();
const read = (path: string) => readFileSync(join(root, path), "utf8");
const last = stages.at(-1);
const { packages }: { packages: LockedPackages } = JSON.parse(read("package-lock.json"));

describe("the Dockerfile", () => {
  it("begins each stage with a slim Debian and a Node that the packages accept", () => {
    const [least = ""] = /\d+/.exec(JSON.parse(read("package.json")).engines.node) ?? [];
    expect(Number(args.NODE_VERSION)).toBeGreaterThanOrEqual(Number(least));
    for (const { base } of stages) expect(base).toMatch(/^node:\$\{NODE_VERSION\}-[a-z]+-slim$/);
  });

  it("copies files that are there, and that .dockerignore lets through", () => {
    const allowed = Array.from(read(".dockerignore").matchAll(/^!(.+)$/gm), ([, path = ""]) => path);
    for (const { source } of stages.flatMap(({ copies }) =>
      copies.filter(({ from }) => from === undefined),
    )) {
      expect(existsSync(join(root, source)), source).toBe(true);
      const isAllowed = (path: string) =>
        path.startsWith(`${source}/`) || `${source}/`.startsWith(`${path}/`);
      expect(allowed.some(isAllowed), source).toBe(true);
    }
    expect(read(".dockerignore").split("\n")[1]).toBe("*");
  });

  it("installs with the manifest of each workspace, since npm ci compares them with the lock file", () => {
    const workspaces = Object.keys(packages).filter((path) => path !== "" && !path.includes("node_modules"));
    const installing = stages.filter(({ runs }) => runs.some((command) => command.includes("npm ci")));
    expect(installing.map(({ name }) => name)).toEqual(["build", "dependencies"]);
    const manifests = ["", ...workspaces.map((path) => `${path}/`)].map((path) => `${path}package.json`);
    for (const { copies } of installing) {
      const copied = copies.map(({ source }) => source);
      expect(copied).toEqual(expect.arrayContaining([...manifests, "package-lock.json", ".npmrc"]));
    }
  });

  it("installs the clouds' SDKs, and none of the libraries of wallets and pages", () => {
    const { runs = [], copies = [] } = stages.find(({ name }) => name === "dependencies") ?? {};
    expect(runs[0]).toMatch(/^npm ci --omit=dev --workspace=gas-waiver /);
    const ofService = installedBy(packages, "packages/cli");
    const names = ["fastify", "viem", "ethers", "wagmi", "react", "typescript"];
    expect(names.filter((name) => ofService.includes(`node_modules/${name}`))).toEqual(["fastify"]);
    const project = copies.filter(({ target }) => target === "/custody/").map(({ source }) => source);
    expect(project).toEqual(["integrations/custody/package.json", "integrations/custody/package-lock.json"]);
    expect(runs[1]).toMatch(/^npm ci --prefix \/custody /);
    expect(last?.copies).toContainEqual({
      from: "dependencies",
      source: "/custody/node_modules",
      target: "/node_modules",
    });
    const { dependencies } = JSON.parse(read("integrations/custody/package.json"));
    const peers = Object.keys(JSON.parse(read("packages/server/package.json")).peerDependencies);
    expect(Object.keys(dependencies)).toEqual(peers.filter((name) => name !== "graphene-pk11"));
  });

  it("has the compiled output and the files of each package that the command line loads", () => {
    const targets = (last?.copies ?? []).map(({ target }) => target);
    for (const name of ["cli", "client", "crypto-native", "devnet", "protocol", "server"])
      expect(targets).toContain(`packages/${name}/dist`);
  });
});

describe.runIf(canIsolate)("the image, in namespaces", () => {
  let postgres: TestPostgres;
  let devnet: Devnet;
  let image: LocalImage;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    postgres = await new TestPostgres().start();
    devnet = await createDevnet({ blockTimeMs: 0 });
    const { url } = await devnet.listen({ port: 0 });
    image = new LocalImage(freshFolder(), stages);
    env = {
      DATABASE_URL: await postgres.createEmptyDatabase(),
      GAS_WAIVER_RPC_URL: url,
      GAS_WAIVER_CHAIN_ID: String(CHAIN_ID),
      GAS_WAIVER_KEYS: account(10).privateKey,
      GAS_WAIVER_API_KEYS: API_KEY,
      GAS_WAIVER_PORT: "0",
    };
  });
  afterAll(async () => {
    await devnet?.close();
    await postgres?.end();
  });

  it("refuses to serve plain HTTP on the address of the image, unless a proxy is before it", async () => {
    const container = image.run(env);
    expect((await container.ended).status).toBe(2);
    expect(container.stderr).toContain("--behind-proxy");
  });

  it("serves as a user without rights on a root that is read-only, is healthy, and ends with SIGTERM", async () => {
    const port = await freePort();
    const settings = { ...env, GAS_WAIVER_HOST: "127.0.0.1", GAS_WAIVER_METRICS_PORT: String(port) };
    const container = image.run(settings);
    const { url } = await container.ready();
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    expect(await image.run(settings, image.healthCheck).ended).toMatchObject({ status: 0 });
    expect(await container.end()).toEqual({ status: 0, signal: null });
    const check = image.run(settings, image.healthCheck);
    expect(await check.ended).toMatchObject({ status: 1 });
    expect(check.stderr).toContain("ECONNREFUSED");
  });

  it("lets its user write nowhere but in /tmp", async () => {
    const program = `
      const { readFileSync, writeFileSync } = require("node:fs");
      const tryWrite = (path) => { try { writeFileSync(path, ""); return "written"; } catch ({ code }) { return code; } };
      const rights = /CapEff:\\s*(\\w+)/.exec(readFileSync("/proc/self/status", "utf8"))[1];
      const places = ["/x", "/app/x", "/app/packages/cli/dist/x", "/app/node_modules/x", "/usr/x", "/etc/x", "/tmp/x"];
      console.log(JSON.stringify([process.getuid(), Number("0x" + rights), ...places.map(tryWrite)]));`;
    const container = image.run({}, ["node", "-e", program]);
    await container.ended;
    expect(container.stderr).toBe("");
    expect(JSON.parse(container.stdout)).toEqual([10001, 0, ...Array(6).fill("EROFS"), "written"]);
  });
});
