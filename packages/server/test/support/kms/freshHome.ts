import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes an empty home folder, in which no program finds the credentials of a person. */
export function freshHome() {
  const path = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
  return { path, remove: () => rmSync(path, { recursive: true }) };
}
