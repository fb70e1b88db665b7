import { TestPostgres } from "../../packages/server/test/support/testPostgres.js";
import { type Environment, type PoolKind, startEnvironment } from "../chaos/environment.js";
import { type Finding, VIOLATIONS, type Violation } from "../chaos/ledgers.js";
import type { ClientLedger } from "../chaos/load.js";
import { logsOf, runRound } from "../chaos/runRound.js";
import { SeededRandom } from "../support/seededRandom.js";
import { PERSONALITIES } from "./personalities.js";
import type { Personality } from "./personality.js";
import { flagsFor, standingFault, ZOO_FAULTS, zooFault } from "./zooFaults.js";

/** One combination of the matrix. */
export interface Cell {
  readonly personality: string;
  readonly fault: string;
  readonly pool: PoolKind;
  readonly seed: number;
}

export interface ZooOptions {
  /** The names to combine; all by default. */
  readonly personalities?: readonly string[];
  readonly faults?: readonly string[];
  readonly pools?: readonly PoolKind[];
  readonly seed: number;
  /** The cells that run at once, each with processes of its own. */
  readonly jobs: number;
  readonly onCell?: (report: CellReport) => void;
}

/** The outcome of a cell. `ledgers.ts` of the chaos run defines the violations. */
export interface CellReport extends Cell {
  readonly transactions: number;
  readonly executed: number;
  /** The time from the end of the fault until nothing was unfinished. */
  readonly recoveryMs: number;
  readonly struck: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
  /** The replica's log, if a check failed. */
  readonly log: string;
}

export interface ZooResult {
  readonly cells: readonly CellReport[];
  readonly violations: Readonly<Record<Violation, number>>;
}

/** The cells of a run, in an order that the seed draws. */
export function cellsOf({ personalities, faults, pools, seed }: Omit<ZooOptions, "jobs">): Cell[] {
  const names = personalities ?? PERSONALITIES.map(({ name }) => name);
  const cells = names.flatMap((personality) =>
    (faults ?? ZOO_FAULTS).flatMap((fault) =>
      (pools ?? ["strict", "queued"]).map((pool) => ({ personality, fault, pool, seed })),
    ),
  );
  return new SeededRandom(seed, "order").shuffled(cells);
}

/** Runs the cells, some at once. */
export async function runZoo(options: ZooOptions): Promise<ZooResult> {
  const left = cellsOf(options);
  const cells: CellReport[] = [];
  const work = async () => {
    const postgres = await new TestPostgres().start();
    try {
      for (let cell = left.shift(); cell !== undefined; cell = left.shift()) {
        const report = await runCell(cell, postgres);
        cells.push(report);
        options.onCell?.(report);
      }
    } finally {
      await postgres.end();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.jobs, left.length) }, work));
  const found = cells.flatMap(({ findings }) => findings);
  const violations = Object.fromEntries(
    VIOLATIONS.map((name) => [name, found.filter(({ violation }) => violation === name).length]),
  ) as Record<Violation, number>;
  return { cells, violations };
}

async function runCell(cell: Cell, postgres: TestPostgres): Promise<CellReport> {
  const personality = personalityOf(cell.personality);
  const random = new SeededRandom(cell.seed, cell.personality, cell.fault, cell.pool);
  const { pool, seed } = cell;
  const flags = flagsFor(cell.fault);
  const environment = await startEnvironment({ pool, replicas: 1, seed, personality, flags, postgres });
  try {
    return await runFault(cell, environment, personality, random);
  } finally {
    await environment.close();
  }
}

async function runFault(
  cell: Cell,
  environment: Environment,
  personality: Personality,
  random: SeededRandom,
): Promise<CellReport> {
  const ledger: ClientLedger = { txs: new Map(), keyedRequests: [], answers: {}, checkedRecords: [] };
  environment.node.fault = standingFault(personality, random);
  const fault = zooFault(cell.fault, environment, personality, random);
  const { findings, transactions, recoveryMs } = await runRound(environment, random, [fault], {
    ...{ seed: cell.seed, ledger },
  });
  const crashes = environment.replicas.flatMap((replica) => replica.crashes);
  for (const text of crashes) findings.push({ violation: "unresolved", text });
  const executed = environment.chain.executions.length;
  const log = findings.length > 0 ? await logsOf(environment) : "";
  const { struck } = environment.node;
  return { ...cell, transactions, executed, recoveryMs, struck, findings, log };
}

function personalityOf(name: string): Personality {
  const personality = PERSONALITIES.find((one) => one.name === name);
  if (personality === undefined) throw new Error(`${name} is no personality`);
  return personality;
}
