import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a folder for what the test files of one run share, and names it to their processes. */
export async function setup() {
  // Each project of the configuration calls this.
  if (process.env.GAS_WAIVER_TEST_RUN !== undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "gas-waiver-test-run-"));
  process.env.GAS_WAIVER_TEST_RUN = folder;
  return () => rm(folder, { recursive: true, force: true });
}
