import { cosmos, geth } from "./gethNodes.js";
import { besu, erigon, nethermind, reth } from "./otherNodes.js";
import type { Personality } from "./personality.js";

/**
 * A load balancer in front of a geth and a reth, which lag behind each other by a few blocks (`loadBalancer.ts`). Its words
 * are those of the node that answers; its limits those of a hosted gateway.
 */
export const balanced: Personality = {
  ...geth,
  name: "balanced",
  words: {
    ...geth.words,
    POOL_FULL: reth.words.POOL_FULL,
    WRAPPER_NONCE_GAP: reth.words.WRAPPER_NONCE_GAP,
  },
  limits: { calls: 100, requestBytes: 1_048_576, responseBytes: 10_485_760 },
  troubles: [...geth.troubles, ...reth.troubles],
};

export const PERSONALITIES: readonly Personality[] = [geth, reth, erigon, besu, nethermind, cosmos, balanced];
