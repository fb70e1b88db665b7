import type { Environment } from "../chaos/environment.js";
import type { Fault } from "../chaos/faults.js";
import type { SeededRandom } from "../support/seededRandom.js";
import { ANSWER_FAULTS, type MakeFault } from "./answerFaults.js";
import { CHAIN_FAULTS, type MakeChainFault } from "./chainFaults.js";
import { createLoadBalancer } from "./loadBalancer.js";
import { joinFaults } from "./nodeFault.js";
import type { Personality } from "./personality.js";
import { READ_FAULTS } from "./readFaults.js";

const NODE_FAULTS: Readonly<Record<string, MakeFault>> = { ...ANSWER_FAULTS, ...READ_FAULTS };
const OF_CHAIN: Readonly<Record<string, MakeChainFault>> = CHAIN_FAULTS;

/** The names of all faults of the zoo. `none` is a node without one, and `mixed` has several at once. */
export const ZOO_FAULTS: readonly string[] = [
  "none",
  ...Object.keys(NODE_FAULTS),
  ...Object.keys(OF_CHAIN),
  "mixed",
];

/** The faults that last longer than 4 to 7 s, in ms. */
const LASTING: Readonly<Record<string, readonly [number, number]>> = {
  none: [0, 0],
  // Longer than the time-outs that the flags below set.
  halt: [10_000, 14_000],
  hangBefore: [6_000, 9_000],
  hangAfter: [6_000, 9_000],
  staleHead: [8_000, 12_000],
};

/** The service's flags in a cell. Times are short, so that faults last longer than them. */
export function flagsFor(fault: string): string[] {
  const reorgs = fault.startsWith("reorg") || fault === "mixed";
  const flags = ["--resend-after", "1000", "--reorg-depth", reorgs ? "3" : "0"];
  return fault === "halt" ? [...flags, "--max-queue-time", "6000"] : flags;
}

/** Makes the fault of a cell: the trouble of this name, at a node of this personality. */
export function zooFault(
  name: string,
  environment: Environment,
  personality: Personality,
  random: SeededRandom,
): Fault {
  const [least, most] = LASTING[name] ?? [4_000, 7_000];
  const { begin, end } = makeFault(name, environment, personality, random);
  return {
    ...{ name, target: "node", kills: false, begin, end },
    ...{ afterMs: random.between(300, 900), lastsMs: random.between(least, most) },
  };
}

/** The fault that a personality always has: a load balancer's nodes are never at one height. */
export function standingFault(personality: Personality, random: SeededRandom) {
  return personality.name === "balanced" ? createLoadBalancer(random) : {};
}

function makeFault(name: string, environment: Environment, personality: Personality, random: SeededRandom) {
  const { node } = environment;
  const names = name === "mixed" ? random.shuffled(Object.keys(NODE_FAULTS)).slice(0, 3) : [name];
  const ofNode = names.flatMap((one) => NODE_FAULTS[one]?.({ random, personality }) ?? []);
  const ofChain = names.flatMap((one) => OF_CHAIN[one]?.(environment, random) ?? []);
  const standing = standingFault(personality, random);
  return {
    async begin() {
      node.fault = joinFaults([...ofNode, standing]);
      for (const fault of ofChain) await fault.begin();
    },
    async end() {
      node.fault = standing;
      for (const fault of ofChain) await fault.end();
    },
  };
}
