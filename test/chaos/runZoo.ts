import { TestPostgres } from "../../packages/server/test/support/testPostgres.js";
import { standingFault } from "../nodeZoo/nodeFaults.js";
import { PERSONALITIES } from "../nodeZoo/personalities.js";
import type { Personality } from "../nodeZoo/personality.js";
import { SeededRandom } from "../support/seededRandom.js";
import { type Environment, type PoolKind, startEnvironment } from "./environment.js";
import { type Finding, VIOLATIONS, type Violation } from "./ledgers.js";
import type { ClientLedger } from "./load.js";
import { runRestore } from "./restore.js";
import { logsOf, runRound } from "./runRound.js";
import { settingsFor, ZOO_FAULTS, zooFault } from "./zooFaults.js";

export { PERSONALITIES, ZOO_FAULTS };

/** One combination of the matrix. */
export interface Cell {
  readonly personality: string;
  readonly fault: string;
  readonly pool: PoolKind;
  readonly seed: number;
}

/** The names to combine; all by default. */
export interface Choice {
  readonly personalities?: readonly string[];
  readonly faults?: readonly string[];
  readonly pools?: readonly PoolKind[];
  readonly seed: number;
}

export interface ZooOptions {
  readonly cells: readonly Cell[];
  /** The cells that run at once, each with processes of its own. */
  readonly jobs: number;
  readonly onCell?: (report: CellReport) => void;
}

/** The outcome of a cell. `ledgers.ts` of the chaos run defines the violations. */
export interface CellReport extends Cell {
  readonly transactions: number;
  readonly executed: number;
  /** The time from when the fault was undone and the replica ready until nothing was unfinished. */
  readonly recoveryMs: number;
  /** How often the node's faults and limits struck, by kind. */
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
export function cellsOf({ personalities, faults, pools, seed }: Choice): Cell[] {
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
  const remaining = [...options.cells];
  const cells: CellReport[] = [];
  const work = async () => {
    const postgres = await new TestPostgres().start();
    try {
      for (let cell = remaining.shift(); cell !== undefined; cell = remaining.shift()) {
        const report = await runCell(cell, postgres).catch((error) => brokenCell(cell, error));
        cells.push(report);
        options.onCell?.(report);
      }
    } finally {
      await postgres.end();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.jobs, remaining.length) }, work));
  const allFindings = cells.flatMap(({ findings }) => findings);
  const violations = Object.fromEntries(
    VIOLATIONS.map((name) => [name, allFindings.filter(({ violation }) => violation === name).length]),
  ) as Record<Violation, number>;
  return { cells, violations };
}

/** The report of a cell whose own processes or calls failed. */
function brokenCell(cell: Cell, error: unknown): CellReport {
  const text = `the cell did not run to its end: ${error instanceof Error ? error.stack : error}`;
  const findings: Finding[] = [{ violation: "unresolved", text }];
  return { ...cell, transactions: 0, executed: 0, recoveryMs: 0, struck: {}, findings, log: "" };
}

async function runCell(cell: Cell, postgres: TestPostgres): Promise<CellReport> {
  const personality = personalityOf(cell.personality);
  const random = new SeededRandom(cell.seed, cell.personality, cell.fault, cell.pool);
  const { pool, seed } = cell;
  const environment = await startEnvironment({
    ...{ pool, replicas: 1, seed, personality, postgres },
    ...settingsFor(cell.fault),
  });
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
  const load = { seed: cell.seed, ledger };
  const { findings, transactions, recoveryMs } =
    cell.fault === "restore"
      ? await runRestore(environment, random, load)
      : await runRound(environment, random, [zooFault(cell.fault, environment, personality, random)], load);
  const crashes = environment.replicas.flatMap((replica) => replica.crashes);
  for (const text of crashes) findings.push({ violation: "unresolved", text });
  const executed = environment.chain.executions.length;
  const log = findings.length > 0 ? await logsOf(environment) : "";
  const { struck } = environment.node;
  return { ...cell, transactions, executed, recoveryMs, struck, findings, log };
}

function personalityOf(name: string): Personality {
  const personality = PERSONALITIES.find((one) => one.name === name);
  if (personality === undefined) throw new Error(`${name} is not a personality`);
  return personality;
}
