import type { ResolvedOptions } from "../../packages/server/src/model/options/options.js";
import { resolveOptions } from "../../packages/server/src/model/options/reloadableOptions.js";
import { createLog } from "../../packages/server/src/model/telemetry/log.js";
import { CHAIN_ID } from "../../packages/server/test/support/modelChain.js";
import { APPROVE, accountsOf, TOKEN, TRANSFER } from "../../packages/server/test/support/user.js";
import { createRealm, type WorldRealm } from "./createRealm.js";
import { DatabaseFaults, dropSessions } from "./engine/databaseFaults.js";
import { stream } from "./engine/random.js";
import { EPOCH, enter } from "./engine/realm.js";
import { real } from "./engine/realTime.js";
import type { Session } from "./engine/session.js";
import type { SimulatedDatabase } from "./engine/simulatedDatabase.js";
import { readStore } from "./laws/readStore.js";
import { setLane } from "./outside/setLane.js";
import { Replica, START_MS } from "./replica.js";
import { waiverKeys } from "./waiverKeys.js";
import type { ScenarioSetUp, Violation, World, WorldPlan } from "./world.js";

/** How often a world asks whether it is over, in virtual ms. */
const STEP_MS = 500;

/** The outcome of a world. */
export interface WorldResult {
  readonly plan: WorldPlan;
  /** A digest of everything that happened, which is equal in each repetition. */
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly counts: Readonly<Record<string, number>>;
  readonly virtualMs: number;
  readonly realMs: number;
  /** The processor time of this process, without PostgreSQL's. */
  readonly cpuMs: number;
  /** The lines of the record, if they were asked for. */
  readonly lines: readonly string[];
}

export interface RunWorldOptions {
  readonly database: SimulatedDatabase;
  readonly setUp: ScenarioSetUp;
  /** Keeps the record of all that happens. */
  readonly isRecorded?: boolean;
  /** The level of the replicas' logs, which go to standard output. */
  readonly logLevel?: string;
}

/** Runs one world to its end, in virtual time. The process needs the replaced globals and driver. */
export async function runWorld(plan: WorldPlan, options: RunWorldOptions): Promise<WorldResult> {
  const begun = real.now();
  const cpu = process.cpuUsage();
  const { database, setUp } = options;
  await database.renew();
  const realm = createRealm(plan.seed, options);
  enter(realm);
  const crashes: Violation[] = [];
  const onCrash = ({ stack = "" }: Error) => crashes.push({ law: "crash", text: stack });
  process.on("uncaughtException", onCrash);
  try {
    const { world, replicas, start } = createWorld(plan, realm, options);
    const scenario = setUp(world);
    await start();
    scenario.begin();
    await runUntilOver(realm, world, () => scenario.isOver());
    const { violations, counts } = await scenario.judge();
    const { statements, lockWaits } = realm.gate;
    const virtualMs = realm.clock.now;
    const digest = realm.journal.digest();
    for (const replica of replicas) replica.endAll();
    await realm.activity.settled();
    return {
      ...{ plan, digest, violations: [...violations, ...crashes], virtualMs, lines: realm.journal.lines },
      counts: { ...counts, statements, lockWaits, requests: realm.network.requests },
      realMs: real.now() - begun,
      cpuMs: cpuMsSince(cpu),
    };
  } finally {
    process.off("uncaughtException", onCrash);
    enter(undefined);
  }
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function createWorld(plan: WorldPlan, realm: WorldRealm, { database, logLevel = "silent" }: RunWorldOptions) {
  const { clock, journal, network } = realm;
  const log = createLog(logLevel as Parameters<typeof createLog>[0]);
  const parts = {
    ...{ realm, log, options: optionsOf(plan, database.url) },
    dropSessions: (sessions: readonly Session[]) => dropSessions(database, realm, sessions),
  };
  const replicas = Array.from({ length: plan.replicas }, (_, i) => new Replica(`r${i}`, parts));
  let startedAt = Number.POSITIVE_INFINITY;
  let commands = Promise.resolve();
  const world: World = {
    ...{ plan, network, replicas, database: new DatabaseFaults(realm, database) },
    now: () => clock.now - startedAt,
    date: () => EPOCH + Math.floor(clock.now),
    random: (purpose) => stream(plan.seed, purpose),
    at: (ms, run) => void clock.schedule(Math.max(0, startedAt + ms - clock.now), run, undefined),
    after: (ms, run) => void clock.schedule(ms, run, undefined),
    readStore: () => realm.activity.count(readStore(database)),
    setLane(waiver, state) {
      commands = commands.then(() => setLane(database, waiver, state));
    },
    every(ms, run) {
      const again = () => {
        clock.schedule(ms, again, undefined);
        run();
      };
      clock.schedule(ms, again, undefined);
    },
    note: (line) => journal.note(`${clock.now.toFixed(3)} ${line}`),
  };
  const start = async () => {
    for (const replica of replicas)
      await clock.runToEnd(replica.start(), START_MS, `the start of ${replica.name}`);
    startedAt = clock.now;
  };
  return { world, replicas, start };
}

function optionsOf({ keys, endpoints, settings }: WorldPlan, databaseUrl: string): ResolvedOptions {
  return resolveOptions({
    ...{ chainId: CHAIN_ID, databaseUrl, skipNodeCheck: true },
    rpcUrl: Array.from({ length: endpoints }, (_, i) => `http://node${i}:8545`),
    waivers: accountsOf(...waiverKeys(keys)),
    apiKeys: ["gw_test_first_secret-of-the-first"],
    ...(settings?.policySource !== "registry" && {
      allowedTargets: [{ address: TOKEN, selectors: [TRANSFER, APPROVE] }],
    }),
    ...settings,
  });
}

/** Runs the world to the end of its time, or until nothing can change any more. */
async function runUntilOver({ clock }: WorldRealm, world: World, isOver: () => boolean): Promise<void> {
  let beats = 0;
  world.every(STEP_MS, () => {
    beats++;
  });
  const begun = clock.now;
  while (world.now() < world.plan.lengthMs && !isOver()) await clock.runUntil(clock.now + STEP_MS);
  const due = Math.floor((clock.now - begun) / STEP_MS);
  if (Math.abs(beats - due) > 1) throw new Error(`the clock is wrong: ${beats} beats, and ${due} were due`);
}
