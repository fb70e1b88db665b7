import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresNode } from "../../packages/server/test/support/postgresNode.js";
import { makeTemplate } from "./engine/simulatedDatabase.js";
import { drawWorld } from "./outside/drawWorld.js";
import type { WorldResult } from "./runWorld.js";

export interface SimulationOptions {
  readonly seeds: Iterable<number>;
  readonly processes: number;
  /** The path of the bundled worker. */
  readonly program: string;
  readonly isRecorded: boolean;
  readonly logLevel: string;
  onResult(result: WorldResult): void;
}

const SETTINGS = "full_page_writes = off\nautovacuum = off\nfsync = off\nmax_parallel_workers_per_gather = 0";

export async function runSimulation({
  seeds,
  processes,
  program,
  isRecorded,
  logLevel,
  onResult,
}: SimulationOptions): Promise<void> {
  const folder = await mkdtemp(
    join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "gas-waiver-simulation-"),
  );
  const node = new PostgresNode(folder, 4);
  try {
    await node.start();
    await node.stop();
    await node.configure(SETTINGS);
    await node.start();
    const { host, user } = node.superuser;
    const server = { host, user, folder: join(folder, "postgres") };
    await makeTemplate(server);
    const waiting = seeds[Symbol.iterator]();
    const work = async (_: unknown, i: number) => {
      const child = fork(join(import.meta.dirname, "workerProgram.mjs"), [
        program,
        JSON.stringify(server),
        `world_${i}`,
      ]);
      const message = () =>
        new Promise<unknown>((resolve, reject) => {
          child.once("message", resolve);
          child.once("exit", (code) =>
            reject(new Error(`a process of the simulation ended with status ${code}`)),
          );
        });
      await message();
      for (let { value, done } = waiting.next(); !done; { value, done } = waiting.next()) {
        child.send({ plan: drawWorld(value), options: { isRecorded, logLevel } });
        const answer = (await message()) as WorldResult & { error?: string };
        if (answer.error !== undefined) throw new Error(answer.error);
        onResult(answer);
      }
      child.disconnect();
    };
    await Promise.all(Array.from({ length: processes }, work));
  } finally {
    await node.stop();
    await node.remove();
  }
}
