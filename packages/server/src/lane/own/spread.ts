import type { LiveReplica, OwnedLane } from "../../store/lanes/replicas.js";

/** A lane that goes from one replica to another. */
export interface Handover {
  /** Lower-case hex without a prefix. */
  readonly waiver: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Plans which lanes change their owner, so that each replica has its share. A lane goes from a replica to one that has its
 * key and at least two lanes less: never for a difference of one, which would move it back and forth. Every replica that reads
 * the same makes the same plan, and carries out its own part. A lane without an owner is left to whoever takes it first.
 */
export function planHandovers(
  replicas: readonly LiveReplica[],
  lanes: readonly OwnedLane[],
): readonly Handover[] {
  const counts = new Map(replicas.map(({ id }) => [id, 0]));
  const owners = new Map<string, string>();
  for (const { waiver, owner } of lanes) {
    if (owner === undefined || !counts.has(owner)) continue;
    owners.set(waiver, owner);
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  const handovers = new Map<string, Handover>();
  for (;;) {
    const next = bestHandover(replicas, owners, counts);
    if (next === undefined) return [...handovers.values()].filter(({ from, to }) => from !== to);
    const { waiver, from, to } = next;
    owners.set(waiver, to);
    counts.set(from, (counts.get(from) ?? 0) - 1);
    counts.set(to, (counts.get(to) ?? 0) + 1);
    handovers.set(waiver, { waiver, from: handovers.get(waiver)?.from ?? from, to });
  }
}

/** The handover between the replicas that are furthest apart, if any are far enough. */
function bestHandover(
  replicas: readonly LiveReplica[],
  owners: ReadonlyMap<string, string>,
  counts: ReadonlyMap<string, number>,
): Handover | undefined {
  let best: Handover | undefined;
  let widest = 1;
  for (const [waiver, from] of owners) {
    for (const { id: to, waivers } of replicas) {
      const difference = (counts.get(from) ?? 0) - (counts.get(to) ?? 0);
      if (difference <= widest || !waivers.includes(waiver)) continue;
      best = { waiver, from, to };
      widest = difference;
    }
  }
  return best;
}
