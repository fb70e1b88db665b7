import type { LiveReplica, OwnedLane } from "../../store/lanes/replicas.js";

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
