import type { SeededRandom } from "../support/seededRandom.js";
import { SEND } from "./exchange.js";
import type { NodeFault } from "./nodeFault.js";

const MAX_LAG = 3;
/** A transaction reaches the other node after this time. */
const GOSSIP_MS = 400;

/**
 * A load balancer in front of two nodes: each request goes to one of them at random. The second one is up to three
 * blocks behind, and learns with a delay of a transaction that the first one accepted.
 */
export function createLoadBalancer(random: SeededRandom): NodeFault {
  let isSecond = false;
  const heardAt = new Map<string, number>();
  return {
    viewFor({ head }, place) {
      if (place === 0) isSecond = random.chance(0.5);
      return isSecond ? { head: Math.max(0, head - random.between(0, MAX_LAG)) } : undefined;
    },
    change({ method, params }, reply) {
      if (method === SEND && "result" in reply && !isSecond)
        heardAt.set(String(reply.result), performance.now() + GOSSIP_MS);
      if (method !== "eth_getTransactionByHash" || !isSecond) return reply;
      return (heardAt.get(String(params[0])) ?? 0) > performance.now() ? { result: null } : reply;
    },
  };
}
