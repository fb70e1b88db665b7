import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { SeededRandom } from "../support/seededRandom.js";
import type { Execution } from "./devnetClient.js";
import type { Environment } from "./environment.js";
import type { Finding } from "./ledgers.js";
import { type ClientLedger, startLoad } from "./load.js";
import { startPatience } from "./patience.js";
import { compareLedgers, type RoundResult, untilAllFinished } from "./runRound.js";

/** The fewest executions in final blocks that the chain loses. */
const LEAST_LOST = 4;
/**
 * Time in ms for each thing that the scenario waits for, and the longest without a submission that finishes. A lane stops 15 s
 * after it first saw the loss.
 */
const TIMEOUT_MS = 60_000;

/**
 * The last act of a run, or a cell of the zoo: the chain is restored to a snapshot below its final blocks, while clients
 * send. The lanes that had such blocks stop, and no others. Once they are opened, everything goes on, but for the senders
 * whose nonces the chain has lost.
 */
export async function runRestore(
  environment: Environment,
  random: SeededRandom,
  { seed, ledger }: { readonly seed: number; readonly ledger: ClientLedger },
): Promise<RoundResult> {
  const { chainLoss } = environment;
  const snapshot = await takeSnapshot(environment);
  // New users, so that those of the rounds keep their nonces.
  const load = await startLoad(environment, random, seed + FIRST_USERS, ledger);
  const ending = new AbortController();
  const finished = load.finish(ending.signal, ({ sender, nonce }) => chainLoss.hasBroken(sender, nonce));
  await untilFinalized(environment, snapshot.height, LEAST_LOST);
  await sleep(random.between(0, 1_000));
  const lost = await restore(environment, snapshot);
  const findings = await openStoppedLanes(environment, new Set(lost.map(({ waiver }) => waiver)));
  const openedAt = performance.now();
  const later = await startLoad(environment, random, seed + SECOND_USERS, ledger);
  const patience = startPatience(environment, TIMEOUT_MS);
  patience.signal.addEventListener("abort", () => ending.abort());
  const unanswered = [...(await finished), ...(await later.finish(ending.signal))];
  await untilAllFinished(environment, patience.signal);
  patience.end();
  const recoveryMs = Math.round(performance.now() - openedAt);
  const compared = await compareLedgers(environment, ledger, unanswered);
  findings.push(...compared.findings);
  const transactions = load.transactions + later.transactions;
  return { store: compared.store, findings, recoveryMs, transactions };
}

/** Offsets to the run's seed: each load of the scenario has users of its own. */
const FIRST_USERS = 1_000_003;
const SECOND_USERS = 2_000_003;

interface Snapshot {
  readonly id: string;
  /** The chain's head at the snapshot. */
  readonly height: number;
}

async function takeSnapshot({ chain }: Environment): Promise<Snapshot> {
  await chain.call("devnet_stopMining");
  const id = await chain.call<string>("evm_snapshot");
  const height = await chain.head();
  await chain.call("devnet_resumeMining");
  return { id, height };
}

/** Waits until the store has this many final inclusions above a height. */
async function untilFinalized({ query }: Environment, height: number, count: number): Promise<void> {
  const sql = "select from finished where state = 'included' and block_number > $1";
  await until("final inclusions", async () => (await query(sql, [height])).length >= count);
}

/**
 * Takes the chain back. Mining stops first, and every execution in a final block gets into the store as such, so that
 * the store's final blocks and those of the chain are the same at the moment of the loss.
 * @returns the lost executions of final blocks.
 */
async function restore(environment: Environment, { id, height }: Snapshot): Promise<readonly Execution[]> {
  const { chain, chainLoss, reorgDepth, query } = environment;
  await chain.call("devnet_stopMining");
  await untilHeadStays(chain);
  await chain.scan();
  const finalHeight = (await chain.head()) - reorgDepth;
  const lost = chain.executions.filter(({ block }) => block > height && block <= finalHeight);
  const sql = "select from finished where state = 'included' and block_number > $1 and block_number <= $2";
  await until(
    "every final inclusion",
    async () => (await query(sql, [height, finalHeight])).length >= lost.length,
  );
  await chain.call("evm_revert", id);
  chain.rewind(height);
  chainLoss.add(lost);
  await chain.call("devnet_resumeMining");
  return lost;
}

/** Waits until the lanes of these waivers are stopped, opens all stopped lanes, and reports differences between the two. */
async function openStoppedLanes({ lanes }: Environment, withLoss: ReadonlySet<Hex>): Promise<Finding[]> {
  let stopped: Hex[] = [];
  const isEachStopped = async () => {
    const statuses = await lanes.list();
    stopped = statuses.filter(({ state }) => state === "stopped").map(({ waiver }) => bytesToHex(waiver));
    return [...withLoss].every((waiver) => stopped.includes(waiver));
  };
  await until("the lanes to stop", isEachStopped).catch(() => {});
  for (const waiver of stopped) await lanes.set(hexToBytes(waiver), "open");
  const goingOn = [...withLoss].filter((waiver) => !stopped.includes(waiver));
  const needless = stopped.filter((waiver) => !withLoss.has(waiver));
  return [
    ...goingOn.map((waiver) => finding(waiver, "did not stop, although the chain lost its final blocks")),
    ...needless.map((waiver) => finding(waiver, "stopped, although the chain lost none of its final blocks")),
  ];
}

function finding(waiver: Hex, text: string): Finding {
  return { violation: "falseStop", text: `the lane of ${waiver} ${text}` };
}

const STILL_MS = 400;

/** Waits for a block that was being built when mining stopped. */
async function untilHeadStays(chain: Environment["chain"]): Promise<void> {
  await until("the last block", async () => {
    const head = await chain.head();
    await sleep(STILL_MS);
    return (await chain.head()) === head;
  });
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited for ${what} in vain`);
    await sleep(100);
  }
}
