import { SeededRandom } from "../support/seededRandom.js";
import { compareCaps } from "./caps.js";
import { type Answers, fetchRecords } from "./client.js";
import { type Environment, type PoolKind, startEnvironment } from "./environment.js";
import { type Fault, injectFaults, planFaults } from "./faults.js";
import { compare, type Finding, ROWS, type Row, VIOLATIONS, type Violation } from "./ledgers.js";
import { type ClientLedger, startLoad } from "./load.js";

export interface ChaosOptions {
  /** The rounds in all, divided evenly between the pool kinds. */
  readonly rounds: number;
  readonly seed: number;
  readonly pools: readonly PoolKind[];
  readonly replicas: number;
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
  /** Processes killed: replicas and databases. */
  readonly kills: number;
  /** Injected faults, the kills among them. */
  readonly faults: number;
  /** The longest time from the end of a round's last fault until no submission was unfinished. */
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

/** Time in ms for all submissions to finish after the last fault is undone. */
const RECOVERY_TIMEOUT_MS = 90_000;

/** Runs the rounds. It stops after the first round in which a check fails. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const total: Total = {
    ...{ accepted: 0, executed: 0, failedFinal: 0, kills: 0, faults: 0, maxRecoveryMs: 0, roundsRun: 0 },
    ...{ faultCounts: {}, answers: {}, evidence: [], crashes: [], log: "" },
  };
  const shares = options.pools.map((_, i) => Math.floor((options.rounds + i) / options.pools.length));
  for (const [i, pool] of [...options.pools].entries()) {
    await runEnvironment(pool, shares[i] ?? 0, options, total);
    if (total.evidence.length > 0 || total.crashes.length > 0) break;
  }
  const { accepted, executed, failedFinal, kills, faults, maxRecoveryMs, ...rest } = total;
  const count = (violation: Violation) => rest.evidence.filter((one) => one.violation === violation).length;
  const violations = Object.fromEntries(VIOLATIONS.map((name) => [name, count(name)]));
  const outcome = {
    ...{ accepted, executed, failedFinal },
    ...(violations as Record<Violation, number>),
    ...{ kills, faults, maxRecoveryMs },
  };
  return { outcome, ...rest };
}

interface Total {
  accepted: number;
  executed: number;
  failedFinal: number;
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
  const { seed, replicas, onRound } = options;
  const environment = await startEnvironment({ pool, replicas, seed });
  const ledger: ClientLedger = {
    txs: new Map(),
    keyedRequests: [],
    answers: total.answers,
    checkedRecords: [],
  };
  try {
    let store: readonly Row[] = [];
    for (let round = 1; round <= rounds && total.evidence.length + total.crashes.length === 0; round++) {
      const random = new SeededRandom(seed, pool, replicas, round);
      const faults = planFaults(environment, random);
      const ran = await runRound(environment, random, faults, { seed, ledger });
      store = ran.store;
      total.evidence.push(...ran.findings);
      total.crashes.push(...environment.replicas.flatMap(({ crashes }) => crashes));
      total.maxRecoveryMs = Math.max(total.maxRecoveryMs, ran.recoveryMs);
      total.roundsRun++;
      total.faults += faults.length;
      total.kills += faults.filter(({ kills }) => kills).length;
      const names = faults.map(({ name }) => name);
      for (const name of names) total.faultCounts[name] = (total.faultCounts[name] ?? 0) + 1;
      const { transactions, recoveryMs } = ran;
      onRound?.({ pool, round, faults: names, transactions, recoveryMs });
    }
    total.accepted += store.length;
    total.failedFinal += store.filter(({ state }) => state === "failed").length;
    total.executed += environment.chain.executions.length;
    if (total.evidence.length > 0) total.log = await logsOf(environment);
  } finally {
    await environment.close();
  }
}

/** Sends requests while faults happen. When all faults are undone and all submissions finished, it compares the ledgers. */
async function runRound(
  environment: Environment,
  random: SeededRandom,
  faults: readonly Fault[],
  { seed, ledger }: { readonly seed: number; readonly ledger: ClientLedger },
) {
  const load = await startLoad(environment, random, seed, ledger);
  const ending = new AbortController();
  const finished = load.finish(ending.signal);
  await injectFaults(faults);
  await Promise.all(environment.replicas.map((replica) => replica.ready()));
  const healedAt = performance.now();
  const timer = setTimeout(() => ending.abort(), RECOVERY_TIMEOUT_MS);
  const unanswered = await finished;
  clearTimeout(timer);
  await untilQuiet(environment, healedAt + RECOVERY_TIMEOUT_MS);
  const recoveryMs = Math.round(performance.now() - healedAt);
  await environment.chain.scan();
  const store = await environment.query<Row & Record<string, unknown>>(ROWS);
  const findings = compare({
    clients: ledger.txs.values(),
    keyedRequests: ledger.keyedRequests,
    store,
    chain: environment.chain.executions,
  });
  for (const { hash, received } of unanswered) {
    const lines = received.slice(-3).map(({ line }) => line);
    findings.push({ violation: "unresolved", text: `no final answer for ${hash}: ${JSON.stringify(lines)}` });
  }
  findings.push(...(await compareRecords(environment, store, ledger)), ...(await compareCaps(environment)));
  return { findings, store, recoveryMs, transactions: load.transactions };
}

/** Compares the service's record of each submission with the store's, once, after the round in which it finished. */
async function compareRecords(
  environment: Environment,
  store: readonly Row[],
  ledger: ClientLedger,
): Promise<Finding[]> {
  const known = new Set(ledger.checkedRecords);
  const fresh = store.filter(({ id }) => !known.has(id));
  for (const { id } of fresh) ledger.checkedRecords.push(id);
  const records = await fetchRecords(
    environment,
    fresh.map(({ id }) => id),
  );
  return fresh.flatMap(({ id, state }): Finding[] => {
    const record = records.get(id);
    if (record === undefined)
      return [{ violation: "lost", text: `the service has no record of submission ${id}` }];
    if (record.state === state) return [];
    return [
      { violation: "unresolved", text: `submission ${id} is ${state}, its record says ${record.state}` },
    ];
  });
}

async function untilQuiet(environment: Environment, deadline: number): Promise<void> {
  const sql = "select count(*) from submissions where state in ('queued', 'signed', 'broadcast')";
  while (performance.now() < deadline) {
    const rows = await environment.query<{ count: string }>(sql).catch(() => []);
    if (rows[0]?.count === "0") return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function logsOf(environment: Environment): Promise<string> {
  const lanes = await environment.lanes.list().catch((error: Error) => error.message);
  const logs = environment.replicas.map(({ name, log }) => `--- ${name}\n${log.slice(-60_000)}`);
  return `lanes: ${JSON.stringify(lanes, (_, value: unknown) => value, 1)}\n${logs.join("\n")}`;
}
