import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Creates an empty folder, and removes it after the file's tests. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
  folders.push(folder);
  return folder;
}
