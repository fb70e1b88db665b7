import { theDescription } from "../../packages/server/test/support/description.js";
import { SeededRandom } from "../support/seededRandom.js";
import { problemsOf } from "./answers.js";
import { socketProbe } from "./frames.js";
import type { Probe } from "./probe.js";
import { requestProbe } from "./requests.js";
import { shrink } from "./shrink.js";
import { Target } from "./target.js";

export interface FuzzOptions {
  readonly seed: number;
  readonly forMs: number;
  /** Ends the run early, without a finding. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (probes: number) => void;
}

export interface Finding {
  /** The number of the probe among those of the seed. */
  readonly number: number;
  readonly problem: string;
  /** The smallest bytes that show the problem, as JSON strings of latin1 text. */
  readonly request: string;
}

export interface FuzzResult {
  readonly probes: number;
  readonly finding: Finding | undefined;
}

/** Probes in flight at once. */
const CONCURRENT_PROBES = 8;
const PROGRESS_MS = 10_000;

/** The probe with a number among those of a seed. It depends on nothing else. */
export function probeOf(seed: number, number: number): Probe {
  const random = new SeededRandom(seed, number);
  return random.chance(0.6) ? requestProbe(random) : socketProbe(random);
}

/** Sends probes until the time is over or a problem is found. */
export async function runFuzz({ seed, forMs, signal, onProgress }: FuzzOptions): Promise<FuzzResult> {
  const target = await Target.start();
  const deadline = performance.now() + forMs;
  let reportedAt = performance.now();
  let probes = 0;
  try {
    while (performance.now() < deadline && !signal?.aborted) {
      const numbers = Array.from({ length: CONCURRENT_PROBES }, () => probes++);
      const finding = await sendProbes(target, seed, numbers);
      if (finding !== undefined) return { probes, finding };
      if (performance.now() - reportedAt < PROGRESS_MS) continue;
      reportedAt = performance.now();
      onProgress?.(probes);
    }
    return { probes, finding: undefined };
  } finally {
    await target.close();
  }
}

/** Sends these probes at once. Resolves with a finding if one of them shows a problem. */
async function sendProbes(
  target: Target,
  seed: number,
  numbers: readonly number[],
): Promise<Finding | undefined> {
  const outcomes = await Promise.all(numbers.map((number) => problemOf(target, probeOf(seed, number))));
  const index = outcomes.findIndex((problem) => problem !== undefined);
  const number = numbers[index];
  if (number !== undefined) {
    const probe = probeOf(seed, number);
    const kind = kindOf(outcomes[index]);
    const hasSameKind = async (pieces: readonly Buffer[]) =>
      kindOf(await problemOf(target, { ...probe, pieces })) === kind;
    return {
      number,
      problem: outcomes[index] ?? "",
      request: asText(await shrink(probe.pieces, hasSameKind)),
    };
  }
  if (target.problem === undefined) return undefined;
  // The target itself has a problem. Any of these probes may have caused it.
  const all = numbers.flatMap((each) => probeOf(seed, each).pieces);
  return { number: numbers[0] ?? 0, problem: target.problem, request: asText(all) };
}

/** The kind of a problem. A reduced request must show the same kind. */
function kindOf(problem: string | undefined): string | undefined {
  return problem?.split(":")[0];
}

async function problemOf(target: Target, probe: Probe): Promise<string | undefined> {
  const received = await target.send(probe);
  if (received === undefined) return "the service neither answered to the end nor closed the connection";
  return problemsOf(probe, received, theDescription())[0];
}

function asText(pieces: readonly Buffer[]): string {
  return pieces.map((piece) => JSON.stringify(piece.toString("latin1"))).join("\n");
}
