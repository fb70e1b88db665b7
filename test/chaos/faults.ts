import { setTimeout as sleep } from "node:timers/promises";
import { CALL_FAULTS, EXCHANGE_FAULTS, type FaultSettings, SEND_ANSWERS } from "@gas-waiver/devnet";
import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { makeNodeFault, NODE_FAULTS, standingFault } from "../nodeZoo/nodeFaults.js";
import { PERSONALITIES } from "../nodeZoo/personalities.js";
import type { SeededRandom } from "../support/seededRandom.js";
import { CHAIN_FAULTS } from "./chainFaults.js";
import type { Environment } from "./environment.js";
import { FAULT_REASON, retry } from "./laneStates.js";
import { changeRegistry } from "./registry.js";
import { CUTS } from "./tcpProxy.js";

/** A fault of a round: it begins after a time, lasts for a time, and is then undone. */
export interface Fault {
  readonly name: string;
  /** Details that are printed with the name. */
  readonly detail?: string | undefined;
  /** The part of the environment that it affects. A round has at most one fault of each part. */
  readonly target: string;
  /** True if it kills or restarts a process, or replaces the primary. */
  readonly kills: boolean;
  readonly afterMs: number;
  readonly lastsMs: number;
  /** Called before the round's load. */
  prepare?(): Promise<void>;
  begin(): unknown;
  end(): unknown;
}

type PlannedFault = Omit<Fault, "name" | "kills" | "afterMs"> & {
  readonly kills?: boolean;
  /** Details that are printed with the name. */
  readonly detail?: string;
};
type FaultKind = (environment: Environment, random: SeededRandom) => PlannedFault;

/** A restart of PostgreSQL; "immediate" drops everything in memory, so that it recovers from its log. */
function restartOf(postgres: Environment["postgres"], mode: "fast" | "immediate"): PlannedFault {
  return {
    ...{ target: "postgres", kills: true, lastsMs: 0 },
    begin: () => postgres.restart(mode),
    end() {},
  };
}

/** Sets the state of a lane, and opens it again. */
function setLane(
  { waivers, lanes }: Environment,
  random: SeededRandom,
  state: "draining" | "stopped",
): PlannedFault {
  const waiver = hexToBytes(random.pick(waivers));
  return {
    target: `lane ${bytesToHex(waiver)}`,
    lastsMs: random.between(500, 4_000),
    begin: () => retry(() => lanes.set(waiver, state, FAULT_REASON)),
    end: () => retry(() => lanes.set(waiver, "open")),
  };
}

const KINDS: Readonly<Record<string, FaultKind>> = {
  /** SIGKILL of a replica, and a new start. */
  kill: (environment, random) => {
    const replica = random.pick(environment.replicas);
    const begin = () => replica.kill();
    return {
      target: replica.name,
      kills: true,
      lastsMs: random.between(0, 2_500),
      begin,
      end: () => replica.start(),
    };
  },
  /** SIGSTOP of a replica for longer than its leases last, then SIGCONT: its lanes have new owners by then. */
  freeze: (environment, random) => {
    const replica = random.pick(environment.replicas);
    const lastsMs = random.between(3_300, 5_500);
    return { target: replica.name, lastsMs, begin: () => replica.freeze(), end: () => replica.thaw() };
  },
  postgresFast: ({ postgres }) => restartOf(postgres, "fast"),
  postgresImmediate: ({ postgres }) => restartOf(postgres, "immediate"),
  /** The primary is killed, and a standby without which nothing was committed takes over. */
  failover: ({ postgres }) => ({
    ...{ target: "postgres", kills: true, lastsMs: 0 },
    async begin() {
      await postgres.addStandby("synchronous");
      await postgres.failOver();
    },
    end() {},
  }),
  /** The primary is killed, and a standby takes over that had not received the last commits. */
  lossyFailover: ({ postgres, database, storeLoss, query }, random) => {
    const behindMs = random.between(300, 3_000);
    return {
      ...{ target: "postgres", kills: true, lastsMs: 0 },
      // Before the load, or all of its commits would have reached the standby.
      prepare: () => postgres.addStandby("asynchronous"),
      async begin() {
        postgres.stallReplication();
        await untilSubmitted(query);
        await sleep(behindMs);
        await postgres.failOver((old, next) => storeLoss.add(database, old, next));
      },
      end() {},
    };
  },
  /** A planned failover to a synchronous standby: the old primary runs on, read-only. */
  switchover: ({ postgres }) => ({
    ...{ target: "postgres", kills: true, lastsMs: 0 },
    async begin() {
      await postgres.addStandby("synchronous");
      await postgres.switchOver();
    },
    end() {},
  }),
  postgresAway: ({ postgres }, random) => ({
    target: "postgres",
    lastsMs: random.between(300, 2_500),
    begin: () => postgres.halt(),
    end: () => postgres.resume(),
  }),
  /** Cuts the connections of one replica, or of all, to the node. */
  cut: (environment, random) => {
    const kind = random.pick(CUTS);
    const replicas = random.chance(0.5) ? environment.replicas : [random.pick(environment.replicas)];
    return {
      target: "connections",
      lastsMs: random.between(300, 4_000),
      begin: () => Promise.all(replicas.map(({ proxy }) => proxy.cut(kind))),
      end: () => Promise.all(replicas.map(({ proxy }) => proxy.heal())),
    };
  },
  evict: ({ chain }, random) => {
    const count = random.chance(0.5) ? "all" : random.between(1, 10);
    const begin = () => chain.call("devnet_evictPool", count);
    // Twice, because the pool has more by then.
    return { target: "pool", lastsMs: random.between(200, 1_500), begin, end: begin };
  },
  badAnswers: ({ chain }, random) => ({
    target: "answers",
    lastsMs: random.between(800, 4_000),
    begin: () => chain.call("devnet_setFaults", badAnswerSettings(random)),
    end: () => chain.call("devnet_clearFaults"),
  }),
  /** The node behaves as another kind from now on, with one or two faults of the zoo. */
  node: (environment, random) => {
    const { node } = environment;
    const personality = random.pick(PERSONALITIES);
    const names = random.shuffled(NODE_FAULTS).slice(0, random.between(1, 2));
    const standing = standingFault(personality, random);
    return {
      ...{ target: "answers", detail: `${personality.name} ${names.join("+")}` },
      lastsMs: random.between(1_500, 6_000),
      begin() {
        node.personality = personality;
        node.fault = makeNodeFault(names, personality, random);
      },
      end() {
        node.fault = standing;
      },
    };
  },
  /** Reorgs of up to three blocks, if the replicas reckon with them. */
  reorg: (environment, random) => ({
    ...{ target: "mining", lastsMs: random.between(500, 3_000) },
    ...CHAIN_FAULTS[random.chance(0.5) ? "reorg" : "reorgForgetting"](environment, random),
  }),
  /** The chain halts for longer than the replicas' --request-timeout and --nonce-gap-timeout. */
  halt: ({ chain }, random) => ({
    target: "mining",
    lastsMs: random.between(5_000, 9_000),
    begin: () => chain.call("devnet_stopMining"),
    end: () => chain.call("devnet_resumeMining"),
  }),
  stopMining: ({ chain }, random) => ({
    target: "mining",
    lastsMs: random.between(500, 4_000),
    begin: () => chain.call("devnet_stopMining"),
    end: () => chain.call("devnet_resumeMining"),
  }),
  revoke: (environment, random) => {
    const waiver = random.pick(environment.waivers);
    return {
      target: "registry",
      lastsMs: random.between(500, 4_000),
      begin: () => changeRegistry(environment, "revoke", waiver),
      end: () => changeRegistry(environment, "register", waiver),
    };
  },
  drain: (environment, random) => setLane(environment, random, "draining"),
  /** A lane is stopped with all that it has, and opened again. */
  stopLane: (environment, random) => setLane(environment, random, "stopped"),
  /** Removes a waiver key from some replicas while they run, and gives it back. */
  keys: (environment, random) => {
    const key = random.pick(environment.waiverKeys);
    const affected = environment.replicas.filter(() => random.chance(0.6));
    return {
      target: "keys",
      lastsMs: random.between(500, 4_000),
      begin() {
        for (const replica of affected)
          replica.setKeys(environment.waiverKeys.filter((other) => other !== key));
      },
      end() {
        for (const replica of affected) replica.setKeys(environment.waiverKeys);
      },
    };
  },
};

/**
 * Faults that may take wrappers out of the pool. Without the store's last commits nobody could send them again: a round with
 * `lossyFailover` has none of these.
 */
const POOL_FAULTS: ReadonlySet<string> = new Set(["evict", "badAnswers", "node", "reorg", "revoke"]);

export const FAULT_NAMES: readonly string[] = Object.keys(KINDS);

const MAX_START_DELAY_MS = 2_500;
const MAX_FAULTS = 6;

/** Draws the faults of a round: one to six among these names, each with another target. */
export function planFaults(
  environment: Environment,
  random: SeededRandom,
  among: readonly string[],
): Fault[] {
  const possible = FAULT_NAMES.filter(
    (name) => among.includes(name) && (name !== "reorg" || environment.reorgDepth > 0),
  );
  const drawn = random.shuffled(possible).slice(0, random.between(1, MAX_FAULTS));
  const names = drawn.includes("lossyFailover") ? drawn.filter((name) => !POOL_FAULTS.has(name)) : drawn;
  const faults = names.map((name): Fault => {
    const kind = KINDS[name];
    if (kind === undefined) throw new Error(`${name} is not a fault`);
    const { detail, ...planned } = kind(environment, random);
    return { kills: false, ...planned, name, detail, afterMs: random.between(0, MAX_START_DELAY_MS) };
  });
  return faults.filter((fault, i) => faults.findIndex(({ target }) => target === fault.target) === i);
}

/** Injects the faults, each at its time. Resolves when all are undone. */
export async function injectFaults(faults: readonly Fault[]): Promise<void> {
  await Promise.all(
    faults.map(async ({ afterMs, lastsMs, begin, end }) => {
      await sleep(afterMs);
      await begin();
      await sleep(lastsMs);
      await end();
    }),
  );
}

/** Waits until the store has one more submission; in vain at the end of a round's load. */
async function untilSubmitted(query: Environment["query"]): Promise<void> {
  const count = () => retry(() => query<{ count: string }>("select count(*) from submissions"));
  const [before] = await count();
  for (const deadline = performance.now() + 30_000; performance.now() < deadline; await sleep(50)) {
    const [now] = await count();
    if (now?.count !== before?.count) return;
  }
}

const FAULT_SHARES = [...EXCHANGE_FAULTS, ...CALL_FAULTS, "delay"] as const;

function badAnswerSettings(random: SeededRandom): FaultSettings {
  const shares = random.shuffled(FAULT_SHARES).slice(0, random.between(1, 4));
  const answers = random.chance(0.3) ? [random.pick(SEND_ANSWERS)] : [];
  return {
    seed: random.between(1, 1_000_000),
    methods: random.chance(0.6) ? ["eth_sendRawTransaction"] : ["*"],
    delayMs: [20, 1_500],
    ...Object.fromEntries(shares.map((name) => [name, random.between(2, 24) / 100])),
    ...Object.fromEntries(answers.map((name) => [name, random.between(1, 5)])),
  };
}
