import type { NodeGauges } from "../../model/telemetry/metrics.js";
import type { EndpointHeads, EndpointState } from "../rpc/endpointHeads.js";
import { nodeName } from "./watchEndpoints.js";

/** A node as metrics and readiness show it. */
export interface NodeStatus extends NodeGauges {
  readonly state: EndpointState;
  /** Why the node gave no answer; undefined if it gave one. */
  readonly whyAway: string | undefined;
}

export function nodeStatuses(
  rpcUrls: readonly string[],
  heads: EndpointHeads,
  now = Date.now(),
): NodeStatus[] {
  return rpcUrls.map((url, place) => {
    const head = heads.headOf(place);
    return {
      node: nodeName(url, place),
      state: heads.stateOf(place),
      whyAway: heads.whyAway(place),
      headAgeSeconds: head && now / 1_000 - head.timestamp,
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
