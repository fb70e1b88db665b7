// The packages as somebody installs them: packed, from a registry, into projects of their own.
import { execFile } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freshFolder } from "./support/freshFolder.js";
import { type Manifest, PackageRegistry } from "./support/packageRegistry.js";
import { root } from "./support/program.js";
import { filesOfStackTrace } from "./support/stackTrace.js";

const run = promisify(execFile);

/** A later release of a package that the service depends on, and what it depends on: both refuse Node 20. */
const LATER: readonly Manifest[] = [
  {
    name: "light-my-request",
    version: "6.99.0",
    dependencies: { cookie: "^2.0.0" },
    engines: { node: ">=99" },
  },
  { name: "cookie", version: "2.0.0", engines: { node: ">=99" } },
];

/** Compilers and installations take seconds, and a minute on a crowded machine. */
const LONGEST_MS = 300_000;
vi.setConfig({ testTimeout: LONGEST_MS, hookTimeout: LONGEST_MS });

let registry: PackageRegistry;
let library: string;
beforeAll(async () => {
  registry = await PackageRegistry.start(freshFolder(), LATER);
  library = freshFolder();
});
afterAll(() => registry?.close());

/** Installs packages. @returns everything that npm prints. */
async function install(folder: string, ...names: string[]): Promise<string> {
  writeFileSync(join(folder, "package.json"), "{}");
  // No settings of the machine, and no cache that knows other packages.
  const flags = ["--registry", registry.url, "--cache", join(folder, ".cache"), "--no-audit", "--no-fund"];
  const { PATH = "" } = process.env;
  const env = { PATH, HOME: folder, npm_config_update_notifier: "false" };
  const { stdout, stderr } = await run("npm", ["install", ...names, ...flags, "--ignore-scripts"], {
    cwd: folder,
    env,
  });
  return `${stdout}${stderr}`;
}

/** All entry points of the library, and names that each must have. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "@gas-waiver/client": ["createWaiverClient", "submitAll", "SubmissionFailedError"],
  "@gas-waiver/client/ethers": ["GasWaiverSigner"],
  "@gas-waiver/client/node": ["fileJournal"],
  "@gas-waiver/client/relay": ["createRelayHandler", "nodeListener"],
  "@gas-waiver/client/self-hosted": ["openWaiverRelay", "wrap", "broadcast"],
  "@gas-waiver/client/viem": ["gasWaiverActions", "gasWaiverTransport"],
  "@gas-waiver/protocol": ["parseInnerTx"],
  "@gas-waiver/protocol/description": ["ROUTE_DEFINITIONS"],
  "@gas-waiver/protocol/wire": ["parseResultLine"],
};

/** The request that viem has simulated goes to the action as it is. */
const SIMULATED = [
  'import { gasWaiverActions } from "@gas-waiver/client/viem";',
  'import { createPublicClient, createWalletClient, http, parseAbi } from "viem";',
  'const abi = parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]);',
  'const address = "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";',
  "export async function simulated(): Promise<string> {",
  '  const call = { address, abi, functionName: "transfer", args: [address, 1n] } as const;',
  "  const { request } = await createPublicClient({ transport: http() }).simulateContract(call);",
  '  const actions = gasWaiverActions({ url: "http://127.0.0.1:1" });',
  "  return await createWalletClient({ transport: http() }).extend(actions).writeGaslessContract(request);",
  "}",
].join("\n");

/** A program that uses each name as a value, and a class as a type. */
const PROGRAM = [
  ...Object.entries(ENTRIES).map(([entry, names]) => `import { ${names.join(", ")} } from "${entry}";`),
  `const all: readonly unknown[] = [${Object.values(ENTRIES).flat().join(", ")}];`,
  "const fail = (error: SubmissionFailedError): string | undefined => error.reason;",
  "const signer = (one: GasWaiverSigner): Promise<string> => one.getAddress();",
  "console.log(all.filter((one) => one !== undefined).length, typeof fail, typeof signer);",
  'const client = createWaiverClient({ url: "http://127.0.0.1:1", apiKey: "gw_x" });',
  "export const lines: AsyncIterable<{ success: boolean }> = client.submit([]);",
].join("\n");

describe("@gas-waiver/client", () => {
  it("installs without a warning, with nothing but the protocol and its two libraries", async () => {
    const output = await install(library, "@gas-waiver/client");
    expect(output).toMatch(/^\s*added 4 packages in \S+\s*$/);
    expect(readdirSync(join(library, "node_modules", "@noble"))).toEqual(["curves", "hashes"]);
    const files = readdirSync(join(library, "node_modules/@gas-waiver/client"), {
      recursive: true,
      encoding: "utf8",
    });
    expect(files).toContain("LICENSE");
    expect(files.filter((file) => /\.map$|tsbuildinfo|\.test\.|^src/.test(file))).toEqual([]);
    for (const name of ["viem", "ethers", "typescript", "@types"]) {
      symlinkSync(join(root, "node_modules", name), join(library, "node_modules", name));
    }
  });

  // The declarations for CommonJS are checked once too. Those of viem's dependencies do not pass under `node16`.
  it.each([
    ["module", "node16", "alone"],
    ["commonjs", "node16", "alone"],
    ["module", "nodenext", "alone"],
    ["commonjs", "nodenext", "with our declarations"],
    ["module", "bundler", "alone"],
  ])("type-checks and runs in a %s project under %s, %s", async (type, resolution, checked) => {
    const project = join(library, `${type}-${resolution}`);
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), JSON.stringify({ type }));
    writeFileSync(join(project, "program.ts"), PROGRAM);
    // A module whatever the project is: viem's own types do not pass in a program of CommonJS under `node16`.
    writeFileSync(join(project, "simulated.mts"), SIMULATED);
    const module = resolution === "bundler" ? "esnext" : resolution;
    const compilerOptions = {
      ...{ module, moduleResolution: resolution, target: "es2022", strict: true, types: ["node"] },
      ...{
        lib: ["es2023", "dom", "dom.asynciterable"],
        skipLibCheck: checked === "alone",
        exactOptionalPropertyTypes: true,
      },
    };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["program.ts", "simulated.mts"] }),
    );
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "-p", project]).catch((error) => error);
    expect(stdout).toBe("");
    const ran = await run(process.execPath, [join(project, "program.js")]);
    expect(ran).toEqual({
      stdout: `${Object.values(ENTRIES).flat().length} function function\n`,
      stderr: "",
    });
  });
});

/** A program with the packages that run chain and service. */
const RUNNING = [
  'import { createDevnet } from "@gas-waiver/devnet";',
  'import { DEVNET_MNEMONIC } from "@gas-waiver/devnet/presets";',
  'import { createServer } from "@gas-waiver/server";',
  'import { startDev } from "gas-waiver";',
  "export const all: readonly unknown[] = [createDevnet, DEVNET_MNEMONIC, createServer, startDev];",
].join("\n");

/** Checks the types of a program and all declarations that it leads to. Of those that others make, a project has Node's. */
async function typeErrors(folder: string): Promise<string[]> {
  writeFileSync(join(folder, "running.mts"), RUNNING);
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  const own = join(folder, "node_modules/@types/node");
  if (!existsSync(own)) symlinkSync(join(root, "node_modules/@types/node"), own);
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const check = async (module: string, resolution: string) => {
    const flags = [
      "--strict",
      "--noEmit",
      "--skipLibCheck",
      "false",
      "--types",
      "node",
      "--target",
      "es2022",
    ];
    const how = ["--module", module, "--moduleResolution", resolution, "--lib", "es2023"];
    const checked = run(process.execPath, [tsc, "running.mts", ...flags, ...how], { cwd: folder });
    return (await checked.catch((error) => error)).stdout as string;
  };
  return [await check("nodenext", "nodenext"), await check("esnext", "bundler")];
}

/** All files that a value of `exports` names. `*` stands for any name. */
const filesOf = (exported: unknown): string[] =>
  typeof exported === "string" ? [exported] : Object.values(exported as object).flatMap(filesOf);

describe("a package as it is packed", () => {
  it.each(readdirSync(join(root, "packages")))("has each file that its manifest names: %s", async (name) => {
    const folder = freshFolder();
    const { name: full } = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
    await run("tar", ["-xzf", registry.tarballOf(full), "-C", folder]);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const {
      exports,
      main,
      types,
      typesVersions = {},
      bin = {},
      imports = {},
    } = JSON.parse(readFileSync(join(folder, "package", "package.json"), "utf8"));
    const named = filesOf([exports, main, types, typesVersions, bin, imports]);
    expect(named.length).toBeGreaterThan(5);
    const isThere = (path: string) => {
      const [head = "", tail] = join("package", path).split("*");
      if (tail === undefined) return files.includes(head);
      return files.some((file) => file.startsWith(head) && file.endsWith(tail));
    };
    expect(named.filter((path) => !isThere(path))).toEqual([]);
  });
});

describe("gas-waiver", () => {
  it("installs without a warning but npm's own of install scripts, keeps to releases for this Node, and runs", async () => {
    const folder = freshFolder();
    const output = await install(folder, "gas-waiver");
    const warnings = output.split("\n").filter((line) => /warn/i.test(line));
    expect(warnings.filter((line) => !line.startsWith("npm warn install-scripts"))).toEqual([]);
    const versionOf = (name: string) =>
      JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version;
    expect([versionOf("light-my-request"), versionOf("cookie").split(".")[0]]).toEqual(["6.6.0", "1"]);
    expect(existsSync(join(folder, "node_modules/fastify/node_modules"))).toBe(false);
    for (const form of ["dist", "dist/cjs"]) {
      const table = join(folder, "node_modules/@gas-waiver/server", form, "model/options/optionTable.d.ts");
      expect(readFileSync(table, "utf8")).toContain("/** Most transactions in one request. Default: 100. */");
    }
    const { stdout } = await run(join(folder, "node_modules/.bin/gas-waiver"), ["serve", "--help"]);
    expect(stdout).toContain("Usage: gas-waiver serve");
    const serve = [
      "serve",
      "--rpc-url",
      "http://127.0.0.1:1",
      "--chain-id",
      "1",
      "--waiver-kms",
      "alias/waiver",
    ];
    const { stderr } = await run(join(folder, "node_modules/.bin/gas-waiver"), serve).catch((error) => error);
    expect(stderr).toContain(
      "needs the package @aws-sdk/client-kms, which is not installed: run `npm install @aws-sdk/client-kms`",
    );
    const service =
      'const { createServer } = require("@gas-waiver/server"); console.log(typeof createServer)';
    const required = await run(process.execPath, ["-e", service], { cwd: folder });
    expect(required).toEqual({ stdout: "function\n", stderr: "" });
    const traced = await filesOfStackTrace(join(folder, "node_modules/gas-waiver/bin/gas-waiver.mjs"));
    const sources = traced.filter((file) => /\/node_modules\/gas-waiver\/src\/.*\.ts$/.test(file));
    expect(sources.length).toBeGreaterThan(2);
    expect(sources.filter((file) => !existsSync(file))).toEqual([]);
    expect(await typeErrors(folder)).toEqual(["", ""]);
  });
});

describe("a release", () => {
  it("has one version in all packages, and in what they need of each other, and a licence and files in each", () => {
    const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const name of readdirSync(join(root, "packages"))) {
      const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
      expect(manifest).toMatchObject({ version, license, engines: { node: ">=20.19" } });
      expect(manifest.files).toContain("dist");
      const own = Object.entries(manifest.dependencies).filter(([one]) => one.startsWith("@gas-waiver/"));
      expect(own.filter(([, needed]) => needed !== version)).toEqual([]);
    }
  });

  it.each(readdirSync(join(root, "packages")))(
    "of %s leads a compiler that does not read exports to the same types",
    (name) => {
      const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
      const { ".": main, ...others } = manifest.exports as Record<
        string,
        { types?: string; default?: string }
      >;
      const entries = Object.entries(others).filter(([, { types }]) => types !== undefined);
      const types = Object.fromEntries(entries.map(([path, one]) => [path.slice(2), [one.types]]));
      expect([manifest.main, manifest.types]).toEqual([main?.default, main?.types]);
      expect(manifest.typesVersions?.["*"] ?? {}).toEqual(types);
    },
  );

  it("gets another version in all places by one command", async () => {
    const folder = freshFolder();
    const manifests = ["", ...readdirSync(join(root, "packages")).map((name) => `packages/${name}`)];
    for (const path of manifests) {
      mkdirSync(join(folder, path), { recursive: true });
      copyFileSync(join(root, path, "package.json"), join(folder, path, "package.json"));
    }
    await run(process.execPath, [join(root, "scripts/setVersion.mjs"), "9.8.7-rc.1"], { cwd: folder });
    const versions = manifests.flatMap((path) => {
      const { version, dependencies } = JSON.parse(readFileSync(join(folder, path, "package.json"), "utf8"));
      const needed = Object.entries(dependencies ?? {}).filter(([name]) => name.startsWith("@gas-waiver/"));
      return [version, ...needed.map(([, needs]) => needs)];
    });
    expect(versions.length).toBeGreaterThan(manifests.length);
    expect(new Set(versions)).toEqual(new Set(["9.8.7-rc.1"]));
  });
});

describe("the README of each package", () => {
  it.each(readdirSync(join(root, "packages")))(
    "%s is in the package, begins with its installation, and links to nothing outside",
    (name) => {
      const manifest = JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));
      const text = readFileSync(join(root, "packages", name, "README.md"), "utf8");
      expect(text).toContain(`npm install ${manifest.name}`);
      const links = Array.from(text.matchAll(/\]\((?!https?:|#)([^)#]+)/g), ([, target = ""]) => target);
      expect(links.filter((target) => target.startsWith("..") || target.startsWith("/"))).toEqual([]);
    },
  );
});
