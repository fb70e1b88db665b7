// The weight of `npm start`: its packages by the lock file, and their size in the node_modules of this checkout.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../scripts/install.mjs";
import type { LockedPackages } from "./support/lockFile.js";

const MOST_PACKAGES = 150;
const MOST_BYTES = 170_000_000;

const packagesOf = (file: string): LockedPackages =>
  JSON.parse(readFileSync(join(root, file), "utf8")).packages;
// npm's own record has the packages of this platform alone.
const installed = packagesOf("node_modules/.package-lock.json");
const core = Object.entries(packagesOf("package-lock.json"))
  .filter(([path, { dev, link }]) => path.includes("node_modules/") && !dev && !link && path in installed)
  .map(([path]) => path);

/** The size of a package's files on the disk, in blocks of 4 KiB, without those of the packages in it. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules")
    .map((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? bytesOf(path) : entry.isFile() ? blocksOf(statSync(path).size) : 0;
    })
    .reduce((sum, bytes) => sum + bytes, 0);
}

const blocksOf = (bytes: number) => Math.ceil(bytes / 4_096) * 4_096;

it(`npm start installs at most ${MOST_PACKAGES} packages, of ${MOST_BYTES / 1e6} MB`, () => {
  const bytes = core.map((path) => bytesOf(join(root, path))).reduce((sum, one) => sum + one, 0);
  console.log(`npm start installs ${core.length} packages, of ${Math.round(bytes / 1e6)} MB`);
  expect(core.length).toBeLessThanOrEqual(MOST_PACKAGES);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
});
