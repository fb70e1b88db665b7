import { theDescription } from "../../packages/server/test/support/description.js";
import { Random } from "../chaos/random.js";
import { problemsOf } from "./answers.js";
import { socketProbe } from "./frames.js";
import type { Probe } from "./probe.js";
import { requestProbe } from "./requests.js";
import { smallest } from "./smallest.js";
import { Target } from "./target.js";

export interface FuzzOptions {
  readonly seed: number;
  readonly forMs: number;
  /** Ends the run early, and well. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (probes: number) => void;
}

export interface Finding {
  /** Which probe of the seed. */
  readonly number: number;
  readonly problem: string;
  /** The smallest bytes that are known to lead to it, written as JSON texts of latin1. */
  readonly request: string;
}

export interface FuzzResult {
  readonly probes: number;
  readonly finding: Finding | undefined;
}

/** Probes under way at once. */
const AT_ONCE = 8;
const PROGRESS_MS = 10_000;

/** Probe number n of a seed: the same whenever it is asked for. */
export function probeOf(seed: number, number: number): Probe {
  const random = new Random(seed, number);
  return random.chance(0.6) ? requestProbe(random) : socketProbe(random);
}

/** Sends probes until the time is over or something is found. */
export async function runFuzz({ seed, forMs, signal, onProgress }: FuzzOptions): Promise<FuzzResult> {
  const target = await Target.start();
  const deadline = performance.now() + forMs;
  let said = performance.now();
  let probes = 0;
  try {
    while (performance.now() < deadline && !signal?.aborted) {
      const numbers = Array.from({ length: AT_ONCE }, () => probes++);
      const finding = await look(target, seed, numbers);
      if (finding !== undefined) return { probes, finding };
      if (performance.now() - said < PROGRESS_MS) continue;
      said = performance.now();
      onProgress?.(probes);
    }
    return { probes, finding: undefined };
  } finally {
    await target.close();
  }
}

/** Sends some probes at once. */
async function look(target: Target, seed: number, numbers: readonly number[]): Promise<Finding | undefined> {
  const outcomes = await Promise.all(numbers.map((number) => problemOf(target, probeOf(seed, number))));
  const found = outcomes.findIndex((problem) => problem !== undefined);
  const number = numbers[found];
  if (number !== undefined) {
    const probe = probeOf(seed, number);
    const kind = kindOf(outcomes[found]);
    const holds = async (pieces: readonly Buffer[]) =>
      kindOf(await problemOf(target, { ...probe, pieces })) === kind;
    return { number, problem: outcomes[found] ?? "", request: written(await smallest(probe.pieces, holds)) };
  }
  if (target.problem === undefined) return undefined;
  // Which of them it was, nobody can say any more.
  const all = numbers.flatMap((one) => probeOf(seed, one).pieces);
  return { number: numbers[0] ?? 0, problem: target.problem, request: written(all) };
}

/** A shorter request must lead to the same. */
function kindOf(problem: string | undefined): string | undefined {
  return problem?.split(":")[0];
}

async function problemOf(target: Target, probe: Probe): Promise<string | undefined> {
  const received = await target.send(probe);
  if (received === undefined) return "the service neither answered to the end nor closed the connection";
  return problemsOf(probe, received, theDescription())[0];
}

function written(pieces: readonly Buffer[]): string {
  return pieces.map((piece) => JSON.stringify(piece.toString("latin1"))).join("\n");
}
