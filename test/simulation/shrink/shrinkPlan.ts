import { type Behaviour, isHost } from "../behaviours/behaviour.js";
import type { WorldPlan } from "../world.js";
import { ddmin } from "./ddmin.js";

/** Tells whether a world still breaks the law. */
type Breaks = (plan: WorldPlan) => Promise<boolean>;

/**
 * Makes a world that breaks a law smaller, as long as the smaller one breaks the law too: fewer behaviours, replicas, keys, users and
 * submissions; behaviours that strike always; less time.
 */
export async function shrinkPlan(plan: WorldPlan, breaks: Breaks): Promise<WorldPlan> {
  const behaviours = await ddmin(plan.behaviours, (part) => breaks({ ...plan, behaviours: part }));
  let smallest: WorldPlan = { ...plan, behaviours };
  for (const simpler of simplifications(smallest)) {
    const candidate = simpler(smallest);
    if (candidate !== undefined && (await breaks(candidate))) smallest = candidate;
  }
  return smallest;
}

type Simplification = (plan: WorldPlan) => WorldPlan | undefined;

function simplifications({ behaviours }: WorldPlan): Simplification[] {
  return [
    ...["maxInFlight", "maxQueueMs"].map((name) => withoutSetting(name)),
    (plan) => (plan.replicas > 1 && !needsReplica(plan) ? { ...plan, replicas: 1 } : undefined),
    ...[1, 2].map((keys) => (plan: WorldPlan) => (keys < plan.keys ? { ...plan, keys } : undefined)),
    ...[2, 4].map((senders) => (plan: WorldPlan) => fewerSenders(plan, senders)),
    ...[1, 2, 4].map(
      (count) => (plan: WorldPlan) =>
        count < plan.submissions ? { ...plan, submissions: count } : undefined,
    ),
    ...behaviours.map((_, i) => (plan: WorldPlan) => changed(plan, i, { share: 1 })),
    ...behaviours.map((_, i) => (plan: WorldPlan) => changed(plan, i, { from: 0 })),
    ...[46_000, 36_000, 26_000].map(
      (lengthMs) => (plan: WorldPlan) => (lengthMs < plan.lengthMs ? { ...plan, lengthMs } : undefined),
    ),
  ];
}

function withoutSetting(name: string): Simplification {
  return (plan) => {
    const { [name as "maxInFlight"]: value, ...settings } = plan.settings ?? {};
    return value === undefined ? undefined : { ...plan, settings };
  };
}

function needsReplica({ behaviours }: WorldPlan): boolean {
  return behaviours.some(({ does }) => isHost(does) && "replica" in does && does.replica > 0);
}

/** Behaviours name users by their numbers, so those have to stay. */
function fewerSenders(plan: WorldPlan, senders: number): WorldPlan | undefined {
  const least = Math.max(senders, ...plan.behaviours.map(({ subject }) => subject.sender ?? 0));
  return least < plan.senders ? { ...plan, senders: least } : undefined;
}

function changed(plan: WorldPlan, at: number, changes: Partial<Behaviour>): WorldPlan | undefined {
  const old = plan.behaviours[at];
  if (old === undefined) return undefined;
  const changesNothing = Object.entries(changes).every(
    ([name, value]) => old[name as keyof Behaviour] === value,
  );
  if (changesNothing) return undefined;
  return { ...plan, behaviours: plan.behaviours.with(at, { ...old, ...changes }) };
}
