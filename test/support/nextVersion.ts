import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./childProgram.js";
import { freshFolder } from "./freshFolder.js";

/** The name of a migration that comes after those of this version. */
const NEXT = "900000.sql";

/** The packages of which the next version has copies: a package reads its own files only. */
const COPIED = ["server", "cli"];

/**
 * Makes a copy of the built program with one migration more, as the next version of it would have.
 * @returns the path of its script.
 */
export function nextVersion(migration: string): string {
  const folder = freshFolder();
  const packages = join(root, "packages");
  for (const name of COPIED) {
    cpSync(join(packages, name), join(folder, "packages", name), { recursive: true, filter: isShipped });
  }
  linkModules(join(root, "node_modules"), join(folder, "node_modules"), (name) => name !== "@gas-waiver");
  linkModules(packages, join(folder, "node_modules", "@gas-waiver"), (name) => !COPIED.includes(name));
  for (const name of COPIED) {
    symlinkSync(join(folder, "packages", name), join(folder, "node_modules", "@gas-waiver", name));
  }
  writeFileSync(join(folder, "packages", "server", "migrations", NEXT), migration);
  return join(folder, "packages", "cli", "bin", "gas-waiver.mjs");
}

const isShipped = (path: string) => !/\/(?:src|test)$|\.(?:map|d\.ts|tsbuildinfo)$/.test(path);

function linkModules(from: string, to: string, isWanted: (name: string) => boolean): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter(isWanted)) symlinkSync(join(from, name), join(to, name));
}
