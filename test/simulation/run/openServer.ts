import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresNode } from "../../../packages/server/test/support/postgresNode.js";
import { type DatabaseServer, makeTemplate } from "../engine/simulatedDatabase.js";

const PLACE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const NAME = "gas-waiver-simulation-";
/** The stores of a process: a world has up to three replicas, some of them with sessions of an earlier life. */
const STORES = 4;
/**
 * Nothing has to survive a crash, and nothing may happen in the background at moments of its own. Each look at the server's sessions
 * copies the last statements of as many sessions as there may be.
 */
const SETTINGS = `
fsync = off
full_page_writes = off
autovacuum = off
max_parallel_workers_per_gather = 0
deadlock_timeout = 10ms
track_counts = off
update_process_title = off
track_activity_query_size = 100
io_method = sync
`;

/** Starts a PostgreSQL for the simulations of some processes, with its files in memory where the machine has a folder for that. */
export async function openServer(
  processes: number,
): Promise<{ server: DatabaseServer; close(): Promise<void> }> {
  await removeLeftOver();
  const folder = await mkdtemp(join(PLACE, `${NAME}${process.pid}-`));
  const node = new PostgresNode(folder, STORES * processes);
  const close = async () => {
    await node.stop();
    await node.remove();
  };
  try {
    // The first start makes the files, and the settings hold from the second one on.
    await node.start();
    await node.stop();
    await node.configure(SETTINGS);
    await node.start();
    const { host, user } = node.superuser;
    const server = { host, user, folder: join(folder, "postgres") };
    await makeTemplate(server);
    return { server, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Removes the files of programs that were killed. */
async function removeLeftOver(): Promise<void> {
  for (const name of await readdir(PLACE)) {
    const [, pid] = name.match(`^${NAME}(\\d+)-`) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(PLACE, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
