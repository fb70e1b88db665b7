import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { installProject, root } from "../../scripts/install.mjs";

/*
 * Helm itself, for Linux on x64, is in an archive of the package `@aws-cdk/asset-kubectl-v20`. It stays unpacked in
 * node_modules until the next installation.
 */

const ARCHIVE = (await installProject("integrations/helm"))
  .resolve("@aws-cdk/asset-kubectl-v20/package.json")
  .replace("package.json", "lib/layer.zip");
const FOLDER = join(root, "node_modules", ".cache", "gas-waiver");

export const hasHelm = process.platform === "linux" && process.arch === "x64";

/** Runs Helm. @throws an error whose `stderr` has its words. */
export function helm(...args: readonly string[]): string {
  return execFileSync(helmProgram(), args, { encoding: "utf8", stdio: "pipe", env: { HOME: FOLDER } });
}

function helmProgram(): string {
  const program = join(FOLDER, "helm");
  if (existsSync(program)) return program;
  mkdirSync(FOLDER, { recursive: true });
  // Another test may do the same at this moment.
  const unpacked = `${program}-${process.pid}`;
  writeFileSync(unpacked, unzip(readFileSync(ARCHIVE), "helm/helm"), { mode: 0o755 });
  renameSync(unpacked, program);
  return program;
}

/** Unpacks one deflated file of a ZIP archive (APPNOTE.TXT, 4.3.7 and 4.3.12). */
function unzip(archive: Buffer, name: string): Buffer {
  const end = archive.lastIndexOf("PK\x05\x06");
  for (let at = archive.readUInt32LE(end + 16); at < end; ) {
    const lengths = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const [nameLength = 0] = lengths;
    if (archive.toString("utf8", at + 46, at + 46 + nameLength) === name) {
      const size = archive.readUInt32LE(at + 20);
      const local = archive.readUInt32LE(at + 42);
      const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
      return inflateRawSync(archive.subarray(start, start + size));
    }
    at += 46 + lengths.reduce((sum, length) => sum + length, 0);
  }
  throw new Error(`the archive has no ${name}`);
}
