import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

/** An empty folder. Call {@link removeFolders} after the tests. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-devnet-"));
  folders.push(folder);
  return folder;
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}
