import type { Hex } from "@gas-waiver/protocol";
import type { SeededRandom } from "../support/seededRandom.js";
import { compareCaps } from "./caps.js";
import { fetchRecords, type Tx } from "./client.js";
import type { Environment } from "./environment.js";
import { type Fault, injectFaults } from "./faults.js";
import { findFalseStops, reopenLanes } from "./laneStates.js";
import { compare, type Finding } from "./ledgers.js";
import { type ClientLedger, startLoad } from "./load.js";
import { startPatience } from "./patience.js";
import { registerWaivers } from "./registry.js";
import { ROWS, type Row } from "./storeRows.js";

/** The longest time without a submission that finishes, after the last fault is undone, in ms. */
const RECOVERY_TIMEOUT_MS = 90_000;

export interface RoundResult {
  readonly findings: Finding[];
  readonly store: readonly Row[];
  /** The time from when all faults were undone and all replicas ready until nothing was unfinished. */
  readonly recoveryMs: number;
  readonly transactions: number;
}

/** Sends requests while faults happen. When all faults are undone and all submissions finished, it compares the ledgers. */
export async function runRound(
  environment: Environment,
  random: SeededRandom,
  faults: readonly Fault[],
  { seed, ledger }: { readonly seed: number; readonly ledger: ClientLedger },
): Promise<RoundResult> {
  for (const fault of faults) await fault.prepare?.();
  const load = await startLoad(environment, random, seed, ledger);
  const ending = new AbortController();
  const finished = load.finish(ending.signal);
  await injectFaults(faults);
  await reopenLanes(environment);
  await registerWaivers(environment);
  await Promise.all(environment.replicas.map((replica) => replica.ready()));
  const healedAt = performance.now();
  const patience = startPatience(environment, RECOVERY_TIMEOUT_MS);
  patience.signal.addEventListener("abort", () => ending.abort());
  const unanswered = await finished;
  await untilAllKnown(environment, patience.signal);
  await untilAllFinished(environment, patience.signal);
  patience.end();
  const recoveryMs = Math.round(performance.now() - healedAt);
  const { findings, store } = await compareLedgers(environment, ledger, unanswered);
  findings.push(...(await findFalseStops(environment)));
  return { findings, store, recoveryMs, transactions: load.transactions };
}

/** @param unanswered the transactions whose clients have no final line. */
export async function compareLedgers(
  environment: Environment,
  ledger: ClientLedger,
  unanswered: readonly Tx[],
): Promise<Pick<RoundResult, "findings" | "store">> {
  const { chain, storeLoss, chainLoss } = environment;
  // The store first: a submission that is still open may be executed at any time.
  const store = await environment.query<Row & Record<string, unknown>>(ROWS);
  await chain.scan();
  const findings = compare({
    clients: ledger.txs.values(),
    keyedRequests: ledger.keyedRequests,
    ...{ store, chain: chain.executions, loss: storeLoss, chainLoss },
  });
  for (const { hash, received } of unanswered) {
    const lines = received.slice(-3).map(({ line }) => line);
    findings.push({ violation: "unresolved", text: `no final answer for ${hash}: ${JSON.stringify(lines)}` });
  }
  findings.push(...(await compareRecords(environment, store, ledger)), ...(await compareCaps(environment)));
  return { findings, store };
}

/** Compares the service's record of each submission with the store's, once, after the round in which it finished. */
async function compareRecords(
  environment: Environment,
  store: readonly Row[],
  ledger: ClientLedger,
): Promise<Finding[]> {
  const checked = new Set(ledger.checkedRecords);
  // Nobody but the operator can read the record of a submission without an API key.
  const unchecked = store.filter(({ id, key_id }) => !checked.has(id) && key_id !== "");
  for (const { id } of unchecked) ledger.checkedRecords.push(id);
  const records = await fetchRecords(
    environment,
    unchecked.map(({ id }) => id),
  );
  return unchecked.flatMap(({ id, state }): Finding[] => {
    const record = records.get(id);
    if (record === undefined)
      return [{ violation: "lost", text: `the service has no record of submission ${id}` }];
    if (record.state === state) return [];
    return [
      { violation: "unresolved", text: `submission ${id} is ${state}, its record says ${record.state}` },
    ];
  });
}

/** Waits until no submission is unfinished, but for those that can never run on a restored chain. */
export async function untilAllFinished(
  { query, chainLoss }: Environment,
  ending: AbortSignal,
): Promise<void> {
  // With a reorg depth, what is included stays among the unfinished until no reorg can take it away.
  const sql = "select '0x' || encode(sender, 'hex') as sender, sender_nonce from unfinished";
  while (!ending.aborted) {
    const rows = await query<{ sender: Hex; sender_nonce: string }>(sql).catch(() => undefined);
    if (rows?.every((row) => chainLoss.hasBroken(row.sender, Number(row.sender_nonce)))) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The blocks after which the wrappers that waited in a pool while the chain stood still are in one. */
const BLOCKS_TO_LAND = 5;

/** Waits until the store has taken back from the chain what it had forgotten in failovers. */
async function untilAllKnown({ chain, storeLoss, query }: Environment, ending: AbortSignal): Promise<void> {
  if (storeLoss.size === 0) return;
  await chain.scan();
  const landed = chain.scanned + BLOCKS_TO_LAND;
  const sql = `select count(distinct inner_hash) from submissions
    where inner_hash in (select decode(hash, 'hex') from unnest($1::text[]) as hash)`;
  while (!ending.aborted) {
    await chain.scan();
    const hashes = [...new Set(chain.executions.map(({ innerHash }) => innerHash.slice(2)))];
    const rows = await query<{ count: string }>(sql, [hashes]).catch(() => []);
    if (chain.scanned >= landed && rows[0]?.count === String(hashes.length)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export async function logsOf(environment: Environment): Promise<string> {
  const lanes = await environment.lanes.list().catch((error: Error) => error.message);
  const logs = environment.replicas.map(({ name, log }) => `--- ${name}\n${log.slice(-60_000)}`);
  return `lanes: ${JSON.stringify(lanes, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value), 1)}\n${logs.join("\n")}`;
}
