import { makeNodeFault, NODE_FAULTS, standingFault } from "../nodeZoo/nodeFaults.js";
import type { Personality } from "../nodeZoo/personality.js";
import type { SeededRandom } from "../support/seededRandom.js";
import { CHAIN_FAULTS, type MakeChainFault } from "./chainFaults.js";
import type { Environment, EnvironmentOptions } from "./environment.js";
import type { Fault } from "./faults.js";

const CHAIN_FAULTS_BY_NAME: Readonly<Record<string, MakeChainFault>> = CHAIN_FAULTS;

/** Faults of two nodes at once: of the first one, and of the second one, which the service turns to when the first one fails. */
const SPARE_FAULTS: Readonly<Record<string, { readonly first: string; readonly second: string }>> = {
  /** The first node is away, and the second one is hours behind. */
  spareBehind: { first: "dropBefore", second: "staleHead" },
  /** The first node has taken what it does not answer; the second one is healthy. */
  spareTakesOver: { first: "hangAfter", second: "none" },
};

/** The names of all faults of the zoo. `none` is a node without one, `mixed` has several at once, `restore` is a scenario. */
export const ZOO_FAULTS: readonly string[] = [
  "none",
  ...NODE_FAULTS,
  ...Object.keys(SPARE_FAULTS),
  ...Object.keys(CHAIN_FAULTS_BY_NAME),
  "mixed",
  "restore",
];

/** The shortest and the longest duration of the faults that do not last 4 to 7 s, in ms. */
const DURATIONS_MS: Readonly<Record<string, readonly [number, number]>> = {
  none: [0, 0],
  // Longer than the time-outs that the flags below set.
  halt: [10_000, 14_000],
  hangBefore: [6_000, 9_000],
  hangAfter: [6_000, 9_000],
  staleHead: [8_000, 12_000],
};

/** The service's settings in a cell. Times are short, so that faults last longer than them. */
export function settingsFor(fault: string): Pick<EnvironmentOptions, "flags" | "reorgDepth" | "hasSpare"> {
  const flags = ["--resend-after", "1000"];
  return {
    flags: fault === "halt" ? [...flags, "--max-queue-time", "6000"] : flags,
    hasSpare: fault in SPARE_FAULTS,
    reorgDepth: fault.startsWith("reorg") || fault === "mixed" || fault === "restore" ? 3 : 0,
  };
}

/** Makes the fault of a cell: the trouble of this name, at a node of this personality. */
export function zooFault(
  name: string,
  environment: Environment,
  personality: Personality,
  random: SeededRandom,
): Fault {
  const [least, most] = DURATIONS_MS[name] ?? [4_000, 7_000];
  return {
    ...{ name, target: "node", kills: false, ...makeFault(name, environment, personality, random) },
    ...{ afterMs: random.between(300, 900), lastsMs: random.between(least, most) },
  };
}

function makeFault(
  name: string,
  environment: Environment,
  personality: Personality,
  random: SeededRandom,
): Pick<Fault, "begin" | "end"> {
  const { node, spare } = environment;
  const { first, second = "none" } = SPARE_FAULTS[name] ?? { first: name };
  const names =
    name === "mixed"
      ? [...random.shuffled(NODE_FAULTS).slice(0, 2), random.pick(["reorg", "evict"])]
      : [first];
  const nodeFault = makeNodeFault(names, personality, random);
  const ofSpare = makeNodeFault([second], personality, random);
  const chainFaults = names.flatMap((one) => CHAIN_FAULTS_BY_NAME[one]?.(environment, random) ?? []);
  const standing = standingFault(personality, random);
  return {
    async begin() {
      node.fault = nodeFault;
      if (spare) spare.fault = ofSpare;
      for (const fault of chainFaults) await fault.begin();
    },
    async end() {
      node.fault = standing;
      if (spare) spare.fault = standing;
      for (const fault of chainFaults) await fault.end();
    },
  };
}
