import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { PROJECTS } from "../scripts/install.mjs";
import { installedBy, type LockedPackages } from "./support/lockFile.js";
import { root, sourceCodeOf } from "./support/sourceCode.js";

const read = (path: string) => readFileSync(join(root, path), "utf8");

/** The packages that each package imports (ARCHITECTURE.md). */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  "crypto-native": ["@gas-waiver/protocol"],
  client: ["@gas-waiver/protocol"],
  server: ["@gas-waiver/crypto-native", "@gas-waiver/protocol"],
  devnet: ["@gas-waiver/crypto-native", "@gas-waiver/protocol"],
  cli: ["@gas-waiver/client", "@gas-waiver/devnet", "@gas-waiver/protocol", "@gas-waiver/server"],
};

function sourcesOf(name: string): string[] {
  return readdirSync(join(root, "packages", name, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => join("packages", name, "src", file));
}

const importsOf = (file: string) => sourceCodeOf(file).imports;

describe("packages", () => {
  it("all have an entry in the table of arrows", () => {
    expect(readdirSync(join(root, "packages")).sort()).toEqual(Object.keys(ARROWS).sort());
  });

  it.each(Object.entries(ARROWS))("%s imports only the packages of its arrows", (name, allowed) => {
    const forbidden = sourcesOf(name).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => /^(?:@gas-waiver\/|gas-waiver$)/.test(specifier))
        .filter((specifier) => !allowed.some((one) => specifier === one || specifier.startsWith(`${one}/`)))
        .map((specifier) => `${file} imports ${specifier}`),
    );
    expect(forbidden).toEqual([]);
    const { dependencies = {} } = JSON.parse(read(`packages/${name}/package.json`));
    const declared = Object.keys(dependencies).filter((dependency) => dependency.startsWith("@gas-waiver/"));
    expect(declared.sort()).toEqual([...allowed]);
  });

  it("leave the environment and the arguments to the command line", () => {
    const readers = Object.keys(ARROWS)
      .filter((name) => name !== "cli")
      .flatMap(sourcesOf)
      .filter((file) => /process\.(env|argv)\b/.test(read(file)));
    expect(readers).toEqual([]);
  });

  it("keep the client free of Node, but for its entry point `/node`", () => {
    expect(
      sourcesOf("client")
        .filter((file) => !file.endsWith("/src/node.ts"))
        .flatMap(importsOf)
        .filter((specifier) => specifier.startsWith("node:")),
    ).toEqual([]);
  });
});

describe("the lock file", () => {
  it.each(["package-lock.json", ...PROJECTS.map((project) => `${project}/package-lock.json`)])(
    "%s names no registry, so that an installation uses the configured one",
    (file) => {
      const { packages }: { packages: LockedPackages } = JSON.parse(read(file));
      const entries = Object.entries(packages);
      expect(entries.filter(([, { resolved }]) => resolved?.includes("://"))).toEqual([]);
      const installed = entries.filter(([path, { link }]) => path.includes("node_modules/") && !link);
      expect(installed.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path)).toEqual(
        [],
      );
    },
  );

  it("is one of a project that `npm test` installs", () => {
    const files = execFileSync("git", ["ls-files", "*package-lock.json"], { cwd: root, encoding: "utf8" });
    const folders = files.trim().split("\n").map(dirname);
    expect(folders.sort()).toEqual([".", ...PROJECTS].sort());
  });
});

describe("an installation of the protocol or the client alone", () => {
  const { packages }: { packages: LockedPackages } = JSON.parse(read("package-lock.json"));
  const withScripts = (paths: string[]) => paths.filter((path) => packages[path]?.hasInstallScript);
  const isNative = (path: string) =>
    readdirSync(join(root, path), { recursive: true, encoding: "utf8" }).some((file) =>
      /\.node$|binding\.gyp$/.test(file),
    );

  it.each(["packages/protocol", "packages/client"])(
    "%s runs no install script and brings no addon",
    (name) => {
      const installed = installedBy(packages, name);
      expect(installed.some((path) => path.endsWith("node_modules/@noble/curves"))).toBe(true);
      expect(withScripts(installed)).toEqual([]);
      expect(installed.filter(isNative)).toEqual([]);
    },
  );

  it("differs from that of the service, which has the addon", () => {
    const installed = installedBy(packages, "packages/server");
    expect(withScripts(installed)).toContain("node_modules/secp256k1");
    expect(isNative("node_modules/secp256k1")).toBe(true);
  });
});

describe("the scripts of npm", () => {
  it("start and test use exec, so that npm's signals reach the programs instead of the shell in between", () => {
    const { scripts } = JSON.parse(read("package.json"));
    expect(scripts.start).toMatch(/^exec node /);
    expect(scripts.test).toMatch(/^exec node /);
  });
});

describe("the repository", () => {
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" })
    .split("\0")
    .filter(Boolean);

  it("has no output of a build, no installed packages and no data of a service", () => {
    expect(
      files.filter((file) => /(^|\/)(dist|node_modules|\.gas-waiver)\/|\.tsbuildinfo$/.test(file)),
    ).toEqual([]);
  });
});
