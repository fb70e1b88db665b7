import type { SeededRandom } from "../support/seededRandom.js";
import { ANSWER_FAULTS, type MakeFault } from "./answerFaults.js";
import { createLoadBalancer } from "./loadBalancer.js";
import { joinFaults, type NodeFault } from "./nodeFault.js";
import type { Personality } from "./personality.js";
import { READ_FAULTS } from "./readFaults.js";

const MAKERS: Readonly<Record<string, MakeFault>> = { ...ANSWER_FAULTS, ...READ_FAULTS };

/** The names of the faults of a node. */
export const NODE_FAULTS: readonly string[] = Object.keys(MAKERS);

/** Makes the faults of these names, joined with what the personality always has. Other names are left out. */
export function makeNodeFault(
  names: readonly string[],
  personality: Personality,
  random: SeededRandom,
): NodeFault {
  const made = names.flatMap((name) => MAKERS[name]?.({ random, personality }) ?? []);
  return joinFaults([...made, standingFault(personality, random)]);
}

/** The fault that a personality always has: a load balancer's nodes are never at one height. */
export function standingFault({ name }: Personality, random: SeededRandom): NodeFault {
  return name === "balanced" ? createLoadBalancer(random) : {};
}
