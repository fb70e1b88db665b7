import type { Registry } from "prom-client";
import { addGauge } from "../../model/telemetry/gauges.js";
import type { EndpointHeads, EndpointState } from "../rpc/endpointHeads.js";
import { nodeName } from "./watchEndpoints.js";

/** A node as metrics and readiness show it. */
export interface NodeStatus {
  /** Its place and origin. */
  readonly node: string;
  readonly state: EndpointState;
  /** Why the node gave no answer; undefined if it gave one. */
  readonly whyAway: string | undefined;
  /** The age of its head by this machine's clock; undefined before its first answer, and for a block without a time. */
  readonly headAgeSeconds: number | undefined;
  /** The time by which its head is behind the newest of all nodes; undefined while it gives no answer, or is on another chain. */
  readonly lagSeconds: number | undefined;
}

export function nodeStatuses(rpcUrls: readonly string[], heads: EndpointHeads): NodeStatus[] {
  return rpcUrls.map((url, place) => {
    const { timestamp } = heads.headOf(place) ?? {};
    return {
      node: nodeName(url, place),
      state: heads.stateOf(place),
      whyAway: heads.whyAway(place),
      headAgeSeconds: timestamp === undefined ? undefined : Date.now() / 1_000 - timestamp,
      lagSeconds: heads.lagOf(place),
    };
  });
}

/**
 * One sentence for each node that is behind or on another chain, and, where none is well, for each that gives no answer. Without
 * addresses: readiness is for customers.
 */
export function troubleOf(statuses: readonly NodeStatus[]): string | undefined {
  const isOneWell = statuses.some(({ state }) => state === "well");
  const sentences = statuses.flatMap(({ state, lagSeconds, whyAway }, place) => {
    if (whyAway !== undefined && !isOneWell) return [`node ${place + 1}: ${whyAway}`];
    if (state === "behind") return [`node ${place + 1} is ${lagSeconds} s behind`];
    return state === "other chain" ? [`node ${place + 1} is on another chain`] : [];
  });
  return sentences.length === 0 ? undefined : sentences.join("; ");
}

const NODE_GAUGES = [
  [
    "gas_waiver_node_usable",
    "1 if the node answers, is on the right chain, and is not behind.",
    ({ state }: NodeStatus) => Number(state === "well"),
  ],
  [
    "gas_waiver_node_head_age_seconds",
    "Age of the node's latest block, as it was last polled.",
    ({ headAgeSeconds }: NodeStatus) => headAgeSeconds,
  ],
  [
    "gas_waiver_node_lag_seconds",
    "Time by which the node's latest block is behind the newest of all nodes, while it answers and is on the right chain.",
    ({ lagSeconds }: NodeStatus) => lagSeconds,
  ],
] as const;

/** Adds the gauges of the nodes. `nodes` is called at each scrape. */
export function addNodeGauges(registry: Registry, nodes: () => readonly NodeStatus[]): void {
  for (const [name, help, gaugeOf] of NODE_GAUGES)
    addGauge(registry, name, help, ["node"], () => nodes().map((one) => [{ node: one.node }, gaugeOf(one)]));
}
