import { SeededRandom } from "../support/seededRandom.js";
import type { Answers } from "./client.js";
import { type Environment, type PoolKind, startEnvironment } from "./environment.js";
import { FAULT_NAMES, type Fault, planFaults } from "./faults.js";
import { type Finding, VIOLATIONS, type Violation } from "./ledgers.js";
import type { ClientLedger } from "./load.js";
import { runRestore } from "./restore.js";
import { logsOf, type RoundResult, runRound } from "./runRound.js";
import type { Row } from "./storeRows.js";

/** The names of all faults. All but `restore` are drawn for rounds. */
export const ALL_FAULTS: readonly string[] = [...FAULT_NAMES, "restore"];

export interface ChaosOptions {
  /** The rounds in all, divided evenly between the pool kinds. */
  readonly rounds: number;
  readonly seed: number;
  readonly pools: readonly PoolKind[];
  readonly replicas: number;
  /** The deepest reorg that the replicas reckon with. With 0 there are no reorgs. */
  readonly reorgDepth: number;
  /** The names of the faults to draw from; all by default. With `restore`, each pool's chain is restored at the end. */
  readonly faults?: readonly string[] | undefined;
  /** Called after each round. */
  readonly onRound?: (round: RoundReport) => void;
}

export interface RoundReport {
  readonly pool: PoolKind;
  readonly round: number;
  readonly faults: readonly string[];
  readonly transactions: number;
  readonly recoveryMs: number;
}

/** The counts of a run. ledgers.ts defines each violation. */
export interface ChaosOutcome extends Record<Violation, number> {
  /** Submissions in the store. */
  readonly accepted: number;
  /** InnerTxs that the chain executed. */
  readonly executed: number;
  /** Submissions whose final state is failed. */
  readonly failedFinal: number;
  /** Submissions that the store forgot in failovers to a standby that was behind. */
  readonly forgotten: number;
  /** Faults that killed or restarted a replica or a database, or replaced the primary. */
  readonly kills: number;
  /** Injected faults, the kills among them. */
  readonly faults: number;
  /** The longest time from when a round's faults were undone and all replicas ready until no submission was unfinished. */
  readonly maxRecoveryMs: number;
}

export interface ChaosResult {
  readonly outcome: ChaosOutcome;
  readonly faultCounts: Readonly<Record<string, number>>;
  readonly answers: Answers;
  readonly evidence: readonly Finding[];
  /** One text for each replica that ended by itself, with the end of its output. */
  readonly crashes: readonly string[];
  readonly roundsRun: number;
  /** The replicas' logs, if a check failed. */
  readonly log: string;
}

/** Runs the rounds. It stops after the first round in which a check fails or a replica ends by itself. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const total: Total = {
    ...{
      accepted: 0,
      executed: 0,
      failedFinal: 0,
      forgotten: 0,
      kills: 0,
      faults: 0,
      maxRecoveryMs: 0,
      roundsRun: 0,
    },
    ...{ faultCounts: {}, answers: {}, evidence: [], crashes: [], log: "" },
  };
  const shares = options.pools.map((_, i) => Math.floor((options.rounds + i) / options.pools.length));
  for (const [i, pool] of [...options.pools].entries()) {
    await runEnvironment(pool, shares[i] ?? 0, options, total);
    if (total.evidence.length > 0 || total.crashes.length > 0) break;
  }
  const { accepted, executed, failedFinal, forgotten, kills, faults, maxRecoveryMs, ...rest } = total;
  const count = (violation: Violation) => rest.evidence.filter((one) => one.violation === violation).length;
  const violations = Object.fromEntries(VIOLATIONS.map((name) => [name, count(name)]));
  const outcome = {
    ...{ accepted, executed, failedFinal },
    ...(violations as Record<Violation, number>),
    ...{ forgotten, kills, faults, maxRecoveryMs },
  };
  return { outcome, ...rest };
}

interface Total {
  accepted: number;
  executed: number;
  failedFinal: number;
  forgotten: number;
  kills: number;
  faults: number;
  maxRecoveryMs: number;
  roundsRun: number;
  log: string;
  readonly faultCounts: Record<string, number>;
  readonly answers: Answers;
  readonly evidence: Finding[];
  readonly crashes: string[];
}

async function runEnvironment(
  pool: PoolKind,
  rounds: number,
  options: ChaosOptions,
  total: Total,
): Promise<void> {
  if (rounds === 0) return;
  const { seed, replicas, reorgDepth, onRound } = options;
  const environment = await startEnvironment({
    ...{ pool, replicas, seed, reorgDepth },
    differentPolicies: pool === "queued",
  });
  const ledger: ClientLedger = {
    txs: new Map(),
    keyedRequests: [],
    answers: total.answers,
    checkedRecords: [],
  };
  const { faults: among = ALL_FAULTS } = options;
  try {
    let store: readonly Row[] = [];
    for (let round = 1; round <= rounds && total.evidence.length + total.crashes.length === 0; round++) {
      const random = new SeededRandom(seed, pool, replicas, round);
      const faults = planFaults(environment, random, among);
      const result = await runRound(environment, random, faults, { seed, ledger });
      store = result.store;
      total.roundsRun++;
      addRound(total, environment, result, faults);
      onRound?.({ pool, round, faults: faults.map(describe), ...result });
    }
    if (among.includes("restore") && total.evidence.length + total.crashes.length === 0) {
      const random = new SeededRandom(seed, pool, replicas, "restore");
      const result = await runRestore(environment, random, { seed, ledger });
      store = result.store;
      addRound(total, environment, result, [{ name: "restore", kills: false }]);
      onRound?.({
        pool,
        round: rounds + 1,
        faults: [`restore (${environment.chainLoss.size} lost)`],
        ...result,
      });
    }
    total.accepted += store.length;
    total.failedFinal += store.filter(({ state }) => state === "failed").length;
    total.executed += environment.chain.executions.length;
    total.forgotten += environment.storeLoss.size;
    if (total.evidence.length > 0) total.log = await logsOf(environment);
  } finally {
    await environment.close();
  }
}

function addRound(
  total: Total,
  { replicas }: Environment,
  { findings, recoveryMs }: RoundResult,
  faults: readonly Pick<Fault, "name" | "kills">[],
): void {
  total.evidence.push(...findings);
  total.crashes.push(...replicas.flatMap(({ crashes }) => crashes));
  total.maxRecoveryMs = Math.max(total.maxRecoveryMs, recoveryMs);
  total.faults += faults.length;
  total.kills += faults.filter(({ kills }) => kills).length;
  for (const { name } of faults) total.faultCounts[name] = (total.faultCounts[name] ?? 0) + 1;
}

function describe({ name, detail }: Fault): string {
  return detail === undefined ? name : `${name} (${detail})`;
}
