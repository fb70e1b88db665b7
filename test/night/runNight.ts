import { setTimeout as sleep } from "node:timers/promises";
import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { ChainLoss } from "../chaos/chainLoss.js";
import { compare, type Finding } from "../chaos/ledgers.js";
import { StoreLoss } from "../chaos/storeLoss.js";
import { ROWS, type Row } from "../chaos/storeRows.js";
import { SteadyLoad } from "./steadyLoad.js";
import type { Trouble } from "./trouble.js";
import { shorten, TROUBLES, type TroubleName } from "./troubles.js";
import { type Sighting, Watcher } from "./watcher.js";
import { startWorld, type World } from "./world.js";

export const TROUBLE_NAMES = Object.keys(TROUBLES) as readonly TroubleName[];

export interface NightOptions {
  readonly only: readonly TroubleName[];
  /** Transactions a second. */
  readonly rate: number;
  readonly seed: number;
  /** A factor of all times that a run waits and allows; 1 by default. */
  readonly patience?: number;
  /** Ends the night early, with all that it has started. */
  readonly signal: AbortSignal;
  readonly onTrouble?: (report: TroubleReport) => void;
  readonly onLine?: (line: string) => void;
  /** Called with each line of the replicas' logs. */
  readonly onLog?: (line: string) => void;
}

/** The sight of a trouble, in seconds from its begin; that of its end is counted from its remedy. */
export interface TroubleReport {
  readonly name: TroubleName;
  readonly text: string;
  readonly remedy: string;
  readonly signalS?: number | undefined;
  readonly signal?: string | undefined;
  /** Undefined if all replicas stayed ready. */
  readonly unreadyS?: number | undefined;
  readonly alarmS?: number | undefined;
  readonly fired?: readonly string[];
  readonly endS?: number | undefined;
  /** Why it could not be had. */
  readonly skipped?: string;
  /** The things that did not come in time. */
  readonly missing: readonly string[];
}

export interface NightResult {
  readonly troubles: readonly TroubleReport[];
  readonly transactions: number;
  readonly answers: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
}

/** The longest times in s to the first signal and to the alarm, and those for which a run waits. */
const SIGNAL_S = 15;
const ALARM_S = 60;
const WATCH_S = 75;
const END_S = 90;

interface Night {
  readonly world: World;
  readonly watcher: Watcher;
  readonly load: SteadyLoad;
  readonly options: NightOptions;
}

/** Runs the troubles one after the other, and compares the ledgers at the end. */
export async function runNight(options: NightOptions): Promise<NightResult> {
  await useNativeCrypto();
  const world = await startWorld();
  const [apiKey] = world.target.apiKeys;
  const { onLog = () => {} } = options;
  const watcher = new Watcher(world.replicas, { apiKey, changeRule: shorten, onLog });
  const load = new SteadyLoad(world.target, options);
  const night = { world, watcher, load, options };
  watcher.start();
  try {
    const troubles: TroubleReport[] = [];
    for (const name of options.only) {
      const report = await runTrouble(night, name).catch((error: Error): TroubleReport => {
        if (options.signal.aborted) throw error;
        const { text, remedy } = TROUBLES[name];
        return { name, text, remedy, missing: [String(error.stack)] };
      });
      troubles.push(report);
      options.onTrouble?.(report);
    }
    load.stop();
    await until(night, END_S, () => load.isSettledBefore(Number.POSITIVE_INFINITY));
    const findings = await compareAll(night);
    return { troubles, transactions: load.txs.size, answers: load.answers, findings };
  } finally {
    load.end();
    await watcher.end();
    await world.close();
  }
}

async function runTrouble(night: Night, name: TroubleName): Promise<TroubleReport> {
  const { world, watcher, load, options } = night;
  const { patience = 1 } = options;
  const trouble: Trouble = TROUBLES[name];
  const told = { name, text: trouble.text, remedy: trouble.remedy };
  const skipped = trouble.skip?.();
  if (skipped !== undefined) return { ...told, skipped, missing: [] };
  options.onLine?.(`${name}: ${trouble.text}`);
  await trouble.prepare?.(world);
  const isCalm = () => watcher.isCalm(trouble);
  const missing = [
    ...((await until(night, END_S, isCalm)) ? [] : [`calm before it (${watcher.describe()})`]),
  ];

  const begunAt = performance.now();
  const sighting = watcher.look(trouble.signal, trouble.alarms);
  const begun = Promise.resolve(trouble.begin(world));
  const isSeen = ({ signalAt, alarmAt }: Sighting) =>
    signalAt !== undefined && (trouble.alarms.length === 0 || alarmAt !== undefined);
  await until(night, WATCH_S, () => isSeen(sighting));
  await begun;

  const remediedAt = performance.now();
  await trouble.end(world, sighting.signalText ?? "");
  const hasEnded = () => watcher.isOver(trouble) && load.isSettledBefore(remediedAt);
  if (!(await until(night, END_S, hasEnded)))
    missing.push(`an end (${watcher.describe()}, settled: ${load.isSettledBefore(remediedAt)})`);
  const endS = (performance.now() - remediedAt) / 1_000;
  const after = (time: number | undefined) => (time === undefined ? undefined : (time - begunAt) / 1_000);
  const [signalS, alarmS, unreadyS] = [sighting.signalAt, sighting.alarmAt, sighting.unreadyAt].map(after);
  if ((signalS ?? Number.POSITIVE_INFINITY) > SIGNAL_S * patience)
    missing.push(`a signal within ${SIGNAL_S} s`);
  if (trouble.alarms.length > 0 && (alarmS ?? Number.POSITIVE_INFINITY) > ALARM_S * patience)
    missing.push(`an alarm within ${ALARM_S} s`);
  const fired = [...sighting.fired];
  return { ...told, signalS, signal: sighting.signalText, unreadyS, alarmS, fired, endS, missing };
}

/** Looks until something holds. @returns whether it did in time. */
async function until({ options }: Night, seconds: number, holds: () => boolean): Promise<boolean> {
  for (const end = performance.now() + seconds * 1_000 * (options.patience ?? 1); performance.now() < end; ) {
    if (holds()) return true;
    await sleep(100, undefined, { signal: options.signal });
  }
  return holds();
}

/** Compares the clients' lines, the store and the chain. What something else sent with a waiver's key is nobody's submission. */
async function compareAll({ world, load }: Night): Promise<Finding[]> {
  const store = await world.sql<Row>(ROWS);
  await world.chain.scan();
  const findings = compare({
    ...{ clients: load.txs.values(), keyedRequests: [], store, chain: world.chain.executions },
    ...{ loss: new StoreLoss(), chainLoss: new ChainLoss() },
  });
  const open = load
    .end()
    .map(({ hash }): Finding => ({ violation: "unresolved", text: `${hash} has no end` }));
  const crashed = world.replicas.filter(({ hasEnded }) => hasEnded);
  for (const { name, output } of crashed) open.push({ violation: "unresolved", text: `${name}: ${output}` });
  return [...findings.filter(({ text }) => ![...world.foreign].some((hash) => text.includes(hash))), ...open];
}
