import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { DatabaseServer } from "../engine/simulatedDatabase.js";
import type { RunWorldOptions, WorldResult } from "../runWorld.js";
import type { WorldPlan } from "../world.js";

/** The longest time of a world, in real seconds: one that takes longer stands still. Those in which this process was halted do not count. */
const MOST_SECONDS = 300;

export type WorldOptions = Pick<RunWorldOptions, "isRecorded" | "logLevel">;

/** The place at which processes that run worlds are started. */
export interface WorldProcessPlace {
  /** The path of the bundled worker. */
  readonly program: string;
  readonly server: DatabaseServer;
  /** The name of the process's database, which no other process has. */
  readonly database: string;
  /** The number of the process among those that share the cores. */
  readonly place: number;
}

/** A process that runs one world after the other. After a world that ends the process or stands still, it is started anew. */
export class WorldProcess {
  readonly #place: WorldProcessPlace;
  #child: ChildProcess | undefined;

  constructor(place: WorldProcessPlace) {
    this.#place = place;
  }

  /** Runs a world. One that cannot be run to its end has a violation of the law "harness". */
  async run(plan: WorldPlan, options: WorldOptions = {}): Promise<WorldResult> {
    const begun = performance.now();
    const result = await this.ask<WorldResult>(plan, options);
    if (!("failure" in result)) return result;
    await this.close();
    const violations = [{ law: "harness", text: result.failure }];
    const realMs = performance.now() - begun;
    return { plan, violations, digest: "", counts: {}, virtualMs: 0, realMs, cpuMs: 0, lines: [] };
  }

  /** Gives the worker its next task, and waits for the answer. */
  async ask<T extends object>(plan: unknown, options: unknown = {}): Promise<T | Failure> {
    const child = await this.#started();
    const answer = answerOf<T>(child);
    child.send({ plan, options });
    return await answer;
  }

  async close(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async #started(): Promise<ChildProcess> {
    if (this.#child !== undefined) return this.#child;
    const { program, server, database, place } = this.#place;
    const args = [program, JSON.stringify(server), database, String(place)];
    // Without the options of this process, which may be a test's.
    this.#child = fork(join(import.meta.dirname, "workerProgram.mjs"), args, { execArgv: [] });
    const ready = await answerOf(this.#child);
    if ("failure" in ready) throw new Error(ready.failure);
    return this.#child;
  }
}

export interface Failure {
  readonly failure: string;
}

/** The next message of a process, or the reason why none comes. */
function answerOf<T extends object>(child: ChildProcess): Promise<T | Failure> {
  return new Promise((resolve) => {
    const end = (answer: T | Failure) => {
      clearInterval(timer);
      child.off("message", end).off("exit", onExit);
      resolve(answer);
    };
    const onExit = (code: number | null, signal: string | null) =>
      end({ failure: `the process of the world ended with ${signal ?? `status ${code}`}` });
    let seconds = 0;
    const timer = setInterval(() => {
      if (++seconds >= MOST_SECONDS) end({ failure: `no end within ${MOST_SECONDS} real seconds` });
    }, 1_000);
    child.once("message", end).once("exit", onExit);
  });
}
