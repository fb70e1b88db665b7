import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders: string[] = [];

/** Creates an empty folder. It is removed after the file's tests. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
  folders.push(folder);
  return folder;
}

export function removeFreshFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}
