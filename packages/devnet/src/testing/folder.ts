import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** The name of a folder that is removed with the test file. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-devnet-"));
  folders.push(folder);
  return folder;
}
