import { spawn } from "node:child_process";
import { once } from "node:events";
import { statfsSync } from "node:fs";
import { chmod, mkdir, mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSource } from "./loadSource.mjs";
import { build } from "./setup.mjs";

/** A folder in memory: PostgreSQL makes a database there in a tenth of the processor time that a disk costs. */
const MEMORY = "/dev/shm";
const ROOM_BYTES = 4 * 2 ** 30;
/** Removes the folder when this process closes the pipe or dies, also by SIGKILL. PostgreSQL may still write there for a moment. */
const REMOVER = 'read -r _; for i in 1 2 3 4 5 6 7 8 9; do rm -rf "$1" && exit; sleep 1; done';

/**
 * Prepares what the test files of one run share: the built programs, a folder that their processes know by name, and a
 * PostgreSQL, which starts when the first of them asks for it.
 */
export async function setup() {
  // Each project of the configuration calls this.
  if (process.env.GAS_WAIVER_TEST_RUN !== undefined) return undefined;
  const inMemory = hasRoom(MEMORY);
  const folder = await mkdtemp(join(inMemory ? MEMORY : tmpdir(), "gas-waiver-test-run-"));
  process.env.GAS_WAIVER_TEST_RUN = folder;
  if (inMemory) process.env.TMPDIR = await makeTemporary(folder);
  const remover = spawn("/bin/sh", ["-c", REMOVER, "remover", folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Some tests start the built programs.
  await build([], new AbortController().signal).catch(({ message }) => {
    // vitest would say that no test files were found, and wait for the remover.
    console.error(`the tests cannot run: ${message}`);
    process.exit(1);
  });
  const stopPostgres = await servePostgres(folder);
  return async () => {
    await stopPostgres();
    remover.stdin.end();
    await once(remover, "exit");
  };
}

/** Makes a folder for the temporary files of all tests and their programs, of which some run as other users. */
async function makeTemporary(folder) {
  const temporary = join(folder, "tmp");
  await mkdir(temporary);
  await chmod(temporary, 0o1777);
  await chmod(folder, 0o711);
  return temporary;
}

function hasRoom(folder) {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}

/** Tells everyone who connects to a Unix socket in the folder where PostgreSQL is, and starts it for the first one. */
async function servePostgres(folder) {
  let postgres;
  const desk = createServer({ allowHalfOpen: true }, async (client) => {
    // A test file that ends before the answer comes needs none.
    client.on("error", () => {});
    postgres ??= startPostgres(folder);
    const answer = await postgres.then(
      ({ node }) => ({ host: node.superuser.host }),
      ({ stack }) => ({ problem: stack }),
    );
    client.end(JSON.stringify(answer));
  });
  desk.listen(join(folder, "postgres.sock"));
  await once(desk, "listening");
  return async () => {
    desk.close();
    const started = await postgres?.catch(() => undefined);
    await started?.node.stop();
    await started?.close();
  };
}

async function startPostgres(folder) {
  const { module, close } = await loadSource("/packages/server/test/support/runPostgres.ts");
  return { node: await module.startRunPostgres(folder), close };
}
