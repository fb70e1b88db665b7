import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..", "..");

/** Names the code that a world runs: the built packages, their migrations, and the bundled simulation. */
export function buildName(program: string): string {
  const hash = createHash("sha256").update(readFileSync(program));
  for (const folder of ["protocol/dist", "crypto-native/dist", "server/dist", "server/migrations"]) {
    const path = join(root, "packages", folder);
    for (const entry of readdirSync(path, { recursive: true, withFileTypes: true }))
      if (entry.isFile() && /\.(?:js|sql)$/.test(entry.name))
        hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)));
  }
  return hash.digest("hex").slice(0, 16);
}
