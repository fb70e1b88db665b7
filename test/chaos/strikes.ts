import {
  CALL_FAULTS,
  EXCHANGE_FAULTS,
  type FaultSettings,
  type RegistryChange,
  SEND_ANSWERS,
} from "@gas-waiver/devnet";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import type { Random } from "./random.js";
import { CUTS } from "./tcpGate.js";
import type { World } from "./world.js";

/** Something that goes wrong for a while. */
export interface Strike {
  readonly name: string;
  /** What it is about; of two strikes on the same, only one happens at a time. */
  readonly on: string;
  /** A process is killed. */
  readonly kills: boolean;
  readonly afterMs: number;
  readonly lastsMs: number;
  begin(): unknown;
  end(): unknown;
}

type Draft = Omit<Strike, "name" | "kills" | "afterMs"> & { readonly kills?: boolean };
type Kind = (world: World, random: Random) => Draft;

const KINDS: Readonly<Record<string, Kind>> = {
  /** SIGKILL, and a new start. */
  kill: (world, random) => {
    const replica = random.pick(world.replicas);
    const begin = () => replica.kill();
    return {
      on: replica.name,
      kills: true,
      lastsMs: random.between(0, 2_500),
      begin,
      end: () => replica.start(),
    };
  },
  /** SIGSTOP for longer than its leases last, and SIGCONT: it wakes up fenced. */
  freeze: (world, random) => {
    const replica = random.pick(world.replicas);
    const lastsMs = random.between(3_300, 5_500);
    return { on: replica.name, lastsMs, begin: () => replica.freeze(), end: () => replica.thaw() };
  },
  postgresFast: ({ postgres }) => ({
    on: "postgres",
    kills: true,
    lastsMs: 0,
    begin: () => postgres.restart("fast"),
    end() {},
  }),
  postgresImmediate: ({ postgres }) => ({
    on: "postgres",
    kills: true,
    lastsMs: 0,
    begin: () => postgres.restart("immediate"),
    end() {},
  }),
  postgresAway: ({ postgres }, random) => ({
    on: "postgres",
    lastsMs: random.between(300, 2_500),
    begin: () => postgres.halt(),
    end: () => postgres.resume(),
  }),
  /** One replica's way to the node, or everybody's. */
  cut: (world, random) => {
    const how = random.pick(CUTS);
    const gates = random.chance(0.5) ? world.replicas : [random.pick(world.replicas)];
    return {
      on: "gates",
      lastsMs: random.between(300, 4_000),
      begin: () => Promise.all(gates.map(({ gate }) => gate.cut(how))),
      end: () => Promise.all(gates.map(({ gate }) => gate.heal())),
    };
  },
  evict: ({ chain }, random) => {
    const count = random.chance(0.5) ? "all" : random.between(1, 10);
    const begin = () => chain.call("devnet_evictPool", count);
    // Again a little later: there was more in the pool by then.
    return { on: "pool", lastsMs: random.between(200, 1_500), begin, end: begin };
  },
  badAnswers: ({ chain }, random) => ({
    on: "answers",
    lastsMs: random.between(800, 4_000),
    begin: () => chain.call("devnet_setFaults", badAnswers(random)),
    end: () => chain.call("devnet_clearFaults"),
  }),
  stopMining: ({ chain }, random) => ({
    on: "mining",
    lastsMs: random.between(500, 4_000),
    begin: () => chain.call("devnet_stopMining"),
    end: () => chain.call("devnet_resumeMining"),
  }),
  revoke: (world, random) => {
    const waiver = random.pick(world.waivers);
    return {
      on: "registry",
      lastsMs: random.between(500, 4_000),
      begin: () => govern(world, "revoke", waiver),
      end: () => govern(world, "register", waiver),
    };
  },
  drain: (world, random) => {
    const waiver = hexToBytes(random.pick(world.waivers));
    return {
      on: `lane ${bytesToHex(waiver)}`,
      lastsMs: random.between(500, 4_000),
      begin: () => again(() => world.lanes.set(waiver, "draining", "to be retired")),
      end: () => again(() => world.lanes.set(waiver, "open")),
    };
  },
  /** Some replicas lose a key and get it back: a key that is removed and added while the service runs. */
  keys: (world, random) => {
    const key = random.pick(world.waiverKeys);
    const losing = world.replicas.filter(() => random.chance(0.6));
    return {
      on: "keys",
      lastsMs: random.between(500, 4_000),
      begin() {
        for (const replica of losing) replica.setKeys(world.waiverKeys.filter((other) => other !== key));
      },
      end() {
        for (const replica of losing) replica.setKeys(world.waiverKeys);
      },
    };
  },
};

export const STRIKES: readonly string[] = Object.keys(KINDS);

const SPREAD_MS = 2_500;
const AT_ONCE = 6;

/** What goes wrong in a round: one to six strikes on different things. */
export function planStrikes(world: World, random: Random): Strike[] {
  const names = random.shuffled(STRIKES).slice(0, random.between(1, AT_ONCE));
  const strikes = names.map((name): Strike => {
    const kind = KINDS[name];
    if (kind === undefined) throw new Error(`${name} is no strike`);
    return { kills: false, ...kind(world, random), name, afterMs: random.between(0, SPREAD_MS) };
  });
  return strikes.filter((strike, i) => strikes.findIndex(({ on }) => on === strike.on) === i);
}

/** Carries the strikes out, each in its time; resolves when all of them are over and healed. */
export async function strike(strikes: readonly Strike[]): Promise<void> {
  await Promise.all(
    strikes.map(async ({ afterMs, lastsMs, begin, end }) => {
      await rest(afterMs);
      await begin();
      await rest(lastsMs);
      await end();
    }),
  );
}

const SHARES = [...EXCHANGE_FAULTS, ...CALL_FAULTS, "delay"] as const;

function badAnswers(random: Random): FaultSettings {
  const shares = random.shuffled(SHARES).slice(0, random.between(1, 4));
  const answers = random.chance(0.3) ? [random.pick(SEND_ANSWERS)] : [];
  return {
    seed: random.between(1, 1_000_000),
    methods: random.chance(0.6) ? ["eth_sendRawTransaction"] : ["*"],
    delayMs: [20, 1_500],
    ...Object.fromEntries(shares.map((name) => [name, random.between(2, 24) / 100])),
    ...Object.fromEntries(answers.map((name) => [name, random.between(1, 5)])),
  };
}

/**
 * Has the validators change the registry, and waits until they have: it takes a block, which may not come at once,
 * and their votes may be evicted from the pool, too.
 */
async function govern({ chain }: World, action: RegistryChange["action"], waiver: Hex): Promise<void> {
  for (;;) {
    try {
      await chain.call(`devnet_${action}Waiver`, { waiver });
    } catch (error) {
      if (/is no registered waiver|is a registered waiver already/.test((error as Error).message)) return;
      throw error;
    }
    for (let pending = true; pending; await rest(100)) {
      const { faults } = await chain.call<{ faults: { registry: RegistryChange[] } }>("devnet_status");
      const latest = faults.registry.findLast((change) => change.waiver === waiver);
      pending = latest?.action === action && (latest.state === "sent" || latest.state === "scheduled");
    }
  }
}

const TRIES = 50;

/** For what needs the database, which may be away just now. */
async function again(run: () => Promise<unknown>): Promise<void> {
  for (let i = 1; ; i++) {
    try {
      await run();
      return;
    } catch (error) {
      if (i === TRIES) throw error;
      await rest(200);
    }
  }
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
