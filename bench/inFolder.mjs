import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setUp } from "../scripts/setup.mjs";

/**
 * Builds everything, then runs a benchmark in a temporary folder and removes the folder. SIGINT and SIGTERM abort the
 * signal; the exit status is then 1.
 * @param {string} prefix of the folder's name.
 * @param {(workspace: { folder: string, signal: AbortSignal }) => Promise<number>} run resolves with the status.
 */
export async function inFolder(prefix, run) {
  const interrupted = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => interrupted.abort());
  const { signal } = interrupted;
  // Each program that the benchmark starts adds a listener.
  setMaxListeners(0, signal);
  await setUp({ signal });
  const folder = await mkdtemp(join(tmpdir(), prefix));
  try {
    return await run({ folder, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    console.error("interrupted");
    return 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
