import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** An empty folder that is removed with the test file. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
  folders.push(folder);
  return folder;
}
