import { hexToBytes } from "@gas-waiver/protocol";
import { forgetReplica, keepAlive, type LiveReplica, type OwnedLane } from "../../store/lanes/replicas.js";
import type { Schedule } from "../../util/schedule.js";
import { type LaneDependencies, logFailure } from "../context.js";

export type Spreading = ReturnType<typeof startSpreading>;

interface SpreadingDependencies
  extends Pick<LaneDependencies, "store" | "chainRef" | "replica" | "log" | "options"> {
  readonly schedule: Schedule;
  /** The waivers of this replica's lanes. */
  waivers(): readonly Uint8Array[];
  /** Has the lane of this waiver finish its step and go to another replica. */
  handOver(waiver: Uint8Array, to: string): void;
}

/** The longest time between two reads of the other replicas, in ms. */
const ROUND_MS = 1_000;

/**
 * Spreads the lanes over the replicas that are alive and have their keys: records that this replica is alive, and hands over its
 * lanes above its share.
 */
export function startSpreading(dependencies: SpreadingDependencies) {
  const { store, chainRef: chain, replica: id, log, options } = dependencies;
  const rounds = dependencies.schedule.look(async () => {
    const { replicas, lanes } = await keepAlive(
      store,
      { chain, id },
      dependencies.waivers(),
      options.leaseMs,
    );
    for (const { waiver, from, to } of planHandovers(replicas, lanes)) {
      if (from !== id) continue;
      log.info({ waiver: `0x${waiver}`, to }, "the lane goes to a replica that has fewer");
      dependencies.handOver(hexToBytes(`0x${waiver}`), to);
    }
    return Math.min(ROUND_MS, options.leaseMs / 3);
  }, 0);
  return {
    /**
     * Stops, and records that this replica has ended. Call it before the lanes are released, so that this replica is handed
     * no lane.
     */
    async close(): Promise<void> {
      await rounds.end();
      await forgetReplica(store, { chain, id }).catch((error: unknown) => logFailure(log, error, "spread"));
    },
  };
}

/** A lane that goes from one replica to another. */
export interface Handover {
  /** Lower-case hex without a prefix. */
  readonly waiver: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Plans the changes of owner that give each replica its share of the lanes. A lane moves to a replica that has its key and
 * at least two lanes less. For a difference of one, a lane would move back and forth. Replicas that read the same rows make
 * the same plan, and each carries out its own part. The first replica that takes a lane without an owner keeps it.
 */
export function planHandovers(
  replicas: readonly LiveReplica[],
  lanes: readonly OwnedLane[],
): readonly Handover[] {
  const counts = new Map(replicas.map(({ id }) => [id, 0]));
  const countOf = (id: string) => counts.get(id) ?? 0;
  const owners = new Map<string, string>();
  for (const { waiver, owner } of lanes) {
    if (owner === undefined || !counts.has(owner)) continue;
    owners.set(waiver, owner);
    counts.set(owner, countOf(owner) + 1);
  }
  const handovers = new Map<string, Handover>();
  for (;;) {
    const next = bestHandover(replicas, owners, countOf);
    if (next === undefined) return [...handovers.values()].filter(({ from, to }) => from !== to);
    const { waiver, from, to } = next;
    owners.set(waiver, to);
    counts.set(from, countOf(from) - 1);
    counts.set(to, countOf(to) + 1);
    handovers.set(waiver, { waiver, from: handovers.get(waiver)?.from ?? from, to });
  }
}

/** The handover between the replicas that are furthest apart, if any are far enough. */
function bestHandover(
  replicas: readonly LiveReplica[],
  owners: ReadonlyMap<string, string>,
  countOf: (replica: string) => number,
): Handover | undefined {
  let best: Handover | undefined;
  let widest = 1;
  for (const [waiver, from] of owners) {
    for (const { id: to, waivers } of replicas) {
      const difference = countOf(from) - countOf(to);
      if (difference <= widest || !waivers.includes(waiver)) continue;
      best = { waiver, from, to };
      widest = difference;
    }
  }
  return best;
}
