import { compareCaps } from "./caps.js";
import { type Answers, fetchRecords } from "./client.js";
import { compare, type Finding, ROWS, type Row, VIOLATIONS, type Violation } from "./ledgers.js";
import { type Book, startLoad } from "./load.js";
import { Random } from "./random.js";
import { planStrikes, type Strike, strike } from "./strikes.js";
import { openWorld, type PoolKind, type World } from "./world.js";

export interface ChaosOptions {
  /** In all; with several pool kinds they are dealt out evenly. */
  readonly rounds: number;
  readonly seed: number;
  readonly pools: readonly PoolKind[];
  readonly replicas: number;
  /** Told of each round as it ends. */
  readonly onRound?: (round: RoundReport) => void;
}

export interface RoundReport {
  readonly pool: PoolKind;
  readonly round: number;
  readonly strikes: readonly string[];
  readonly transactions: number;
  readonly recoveryMs: number;
}

/** The outcome; what each violation means is told in ledgers.ts. */
export interface ChaosOutcome extends Record<Violation, number> {
  /** Submissions in the store. */
  readonly accepted: number;
  /** InnerTxs that the chain ran. */
  readonly executed: number;
  /** Submissions that ended as failed. */
  readonly failedFinal: number;
  /** Processes killed: replicas and databases. */
  readonly kills: number;
  /** Strikes of every kind, the kills among them. */
  readonly faults: number;
  /** The longest time from the end of a round's last strike until nothing was unfinished. */
  readonly maxRecoveryMs: number;
}

export interface ChaosResult {
  readonly outcome: ChaosOutcome;
  readonly strikes: Readonly<Record<string, number>>;
  readonly answers: Answers;
  readonly evidence: readonly Finding[];
  /** Replicas that ended by themselves, with their last words. */
  readonly crashes: readonly string[];
  readonly roundsRun: number;
  /** What the replicas wrote, if something was wrong. */
  readonly log: string;
}

/** How long everything may take to be finished once nothing is wrong any more. */
const PATIENCE_MS = 90_000;

/** Runs the rounds; stops at the first in which something is wrong. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const total: Total = {
    ...{ accepted: 0, executed: 0, failedFinal: 0, kills: 0, faults: 0, maxRecoveryMs: 0, roundsRun: 0 },
    ...{ strikes: {}, answers: {}, evidence: [], crashes: [], log: "" },
  };
  const shares = options.pools.map((_, i) => Math.floor((options.rounds + i) / options.pools.length));
  for (const [i, pool] of [...options.pools].entries()) {
    await runWorld(pool, shares[i] ?? 0, options, total);
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
  readonly strikes: Record<string, number>;
  readonly answers: Answers;
  readonly evidence: Finding[];
  readonly crashes: string[];
}

async function runWorld(pool: PoolKind, rounds: number, options: ChaosOptions, total: Total): Promise<void> {
  if (rounds === 0) return;
  const { seed, replicas, onRound } = options;
  const world = await openWorld({ pool, replicas, seed });
  const book: Book = { txs: new Map(), named: [], answers: total.answers, asked: [] };
  try {
    let store: readonly Row[] = [];
    for (let round = 1; round <= rounds && total.evidence.length + total.crashes.length === 0; round++) {
      const random = new Random(seed, pool, replicas, round);
      const strikes = planStrikes(world, random);
      const ran = await runRound(world, random, strikes, { seed, book });
      store = ran.store;
      total.evidence.push(...ran.findings);
      total.crashes.push(...world.replicas.flatMap(({ crashes }) => crashes));
      total.maxRecoveryMs = Math.max(total.maxRecoveryMs, ran.recoveryMs);
      total.roundsRun++;
      total.faults += strikes.length;
      total.kills += strikes.filter(({ kills }) => kills).length;
      const names = strikes.map(({ name }) => name);
      for (const name of names) total.strikes[name] = (total.strikes[name] ?? 0) + 1;
      const { transactions, recoveryMs } = ran;
      onRound?.({ pool, round, strikes: names, transactions, recoveryMs });
    }
    total.accepted += store.length;
    total.failedFinal += store.filter(({ state }) => state === "failed").length;
    total.executed += world.chain.executions.length;
    if (total.evidence.length > 0) total.log = await describe(world);
  } finally {
    await world.close();
  }
}

/** A wave of requests under strikes; then everything works again, and the ledgers are compared. */
async function runRound(
  world: World,
  random: Random,
  strikes: readonly Strike[],
  { seed, book }: { readonly seed: number; readonly book: Book },
) {
  const load = await startLoad(world, random, seed, book);
  const ending = new AbortController();
  const finished = load.finish(ending.signal);
  await strike(strikes);
  await Promise.all(world.replicas.map((replica) => replica.ready()));
  const healedAt = performance.now();
  const timer = setTimeout(() => ending.abort(), PATIENCE_MS);
  const unanswered = await finished;
  clearTimeout(timer);
  await untilQuiet(world, healedAt + PATIENCE_MS);
  const recoveryMs = Math.round(performance.now() - healedAt);
  await world.chain.scan();
  const store = await world.query<Row & Record<string, unknown>>(ROWS);
  const findings = compare({
    told: book.txs.values(),
    named: book.named,
    store,
    chain: world.chain.executions,
  });
  for (const { hash, told } of unanswered) {
    const lines = told.slice(-3).map(({ line }) => line);
    findings.push({ violation: "unresolved", what: `no final answer for ${hash}: ${JSON.stringify(lines)}` });
  }
  findings.push(...(await compareRecords(world, store, book)), ...(await compareCaps(world)));
  return { findings, store, recoveryMs, transactions: load.transactions };
}

/** What clients can look up must be what the store says. Of each submission once, after the round that it ended in. */
async function compareRecords(world: World, store: readonly Row[], book: Book): Promise<Finding[]> {
  const known = new Set(book.asked);
  const fresh = store.filter(({ id }) => !known.has(id));
  for (const { id } of fresh) book.asked.push(id);
  const records = await fetchRecords(
    world,
    fresh.map(({ id }) => id),
  );
  return fresh.flatMap(({ id, state }): Finding[] => {
    const record = records.get(id);
    if (record === undefined) return [{ violation: "lost", what: `nobody can look up submission ${id}` }];
    if (record.state === state) return [];
    return [
      { violation: "unresolved", what: `submission ${id} is ${state}, its record says ${record.state}` },
    ];
  });
}

async function untilQuiet(world: World, deadline: number): Promise<void> {
  const sql = "select count(*) from submissions where state in ('queued', 'signed', 'broadcast')";
  while (performance.now() < deadline) {
    const rows = await world.query<{ count: string }>(sql).catch(() => []);
    if (rows[0]?.count === "0") return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function describe(world: World): Promise<string> {
  const lanes = await world.lanes.list().catch((error: Error) => error.message);
  const logs = world.replicas.map(({ name, log }) => `--- ${name}\n${log.slice(-60_000)}`);
  return `lanes: ${JSON.stringify(lanes, (_, value: unknown) => value, 1)}\n${logs.join("\n")}`;
}
