import { openServer } from "./openServer.js";
import { WorldProcess } from "./worldProcess.js";

export interface ProcessesOptions {
  /** The path of the bundled worker. */
  readonly program: string;
  /** Ends the processes at once. */
  readonly signal: AbortSignal;
}

/** Runs work in a number of processes that share a PostgreSQL. All of them end with it. */
export async function withProcesses(
  count: number,
  { program, signal }: ProcessesOptions,
  work: (process: WorldProcess) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted();
  const { server, close } = await openServer(count);
  const processes = Array.from(
    { length: count },
    (_, place) => new WorldProcess({ program, server, database: `world_${place}`, place }),
  );
  const closeAll = () => Promise.all(processes.map((process) => process.close()));
  const onAbort = () => void closeAll();
  signal.addEventListener("abort", onAbort);
  try {
    await Promise.all(processes.map(work));
  } finally {
    signal.removeEventListener("abort", onAbort);
    await closeAll();
    await close();
  }
}
