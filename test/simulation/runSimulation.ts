import { fork } from "node:child_process";
import { join } from "node:path";
import { openServer } from "./openServer.js";
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

export async function runSimulation({
  seeds,
  processes,
  program,
  ...options
}: SimulationOptions): Promise<void> {
  const { isRecorded, logLevel, onResult } = options;
  const { server, close } = await openServer();
  try {
    const waiting = seeds[Symbol.iterator]();
    const work = async (_: unknown, i: number) => {
      const child = fork(join(import.meta.dirname, "workerProgram.mjs"), [
        ...[program, JSON.stringify(server), `world_${i}`],
      ]);
      const message = () =>
        new Promise<unknown>((resolve, reject) => {
          child.once("message", resolve);
          child.once("exit", (code) => reject(new Error(`a process ended with status ${code}`)));
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
    await close();
  }
}
