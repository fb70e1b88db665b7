import { createAnswerCache } from "../../gateway/answerCache.js";
import { BlockFeed, type NewBlocks } from "../../gateway/feed/blockFeed.js";
import { Gateway } from "../../gateway/gateway.js";
import { MAX_BATCH_CALLS } from "../../gateway/jsonRpc.js";
import { createMethods } from "../../gateway/methods.js";
import { createNodeReader, type GatewayRpc } from "../../gateway/nodeReader.js";
import type { Caller, RateLimits } from "../../model/keys/caller.js";
import type { ResolvedOptions } from "../../model/options/options.js";
import { createAddressShares } from "../limits/addressShares.js";
import { createLocalRateLimiter } from "../limits/localRateLimiter.js";
import type { RouteServices } from "../routes/routeHandler.js";

export type GatewayServices = Pick<
  RouteServices,
  | "store"
  | "chainRef"
  | "intake"
  | "policy"
  | "readiness"
  | "broadcastBuffer"
  | "refusals"
  | "byHash"
  | "rateLimiter"
  | "readLimiter"
  | "options"
  | "health"
  | "log"
> & {
  /** The nodes, over connections of the gateway alone. */
  readonly gatewayRpc: GatewayRpc;
  readonly blockEvents: ChainProgress;
};

/** The chain's progress, as the service's own watch sees it. */
export type ChainProgress = NewBlocks & {
  readonly height: bigint | undefined;
  /** Calls the listener when a developer has taken the chain back. */
  onRewind(listener: () => void): void;
};

/** Builds the gateway from the parts that the other routes use too. */
export function buildGateway(services: GatewayServices): {
  readonly gateway: Gateway;
  readonly blockFeed: BlockFeed;
} {
  const { options, gatewayRpc, blockEvents, policy, readLimiter, health, log } = services;
  const cache = createAnswerCache({ height: () => blockEvents.height, reorgDepth: options.reorgDepth });
  blockEvents.onRewind(cache.clear);
  const methods = createMethods({
    ...services,
    node: createNodeReader(gatewayRpc, cache),
    policies: { current: policy.policies },
    storeTurns: readLimiter,
    version: health.version,
  });
  const countReads = countReadsBy(options);
  const gateway = new Gateway({
    ...{ methods, countReads, log },
    maxBatchCalls: MAX_BATCH_CALLS,
    maxAnswerBytes: options.gatewayAnswerBytes,
  });
  return { gateway, blockFeed: new BlockFeed({ rpc: gatewayRpc, newBlocks: blockEvents, log }) };
}

function rateLimits(ratePerSecond: number): RateLimits {
  return { ratePerSecond, rateBurst: 2 * ratePerSecond };
}

/**
 * Counts for the address under a publishable key, and for the whole key, which its addresses share: pages that run wild cost
 * their addresses alone.
 */
function countReadsBy(
  options: Pick<ResolvedOptions, "gatewayRatePerSecond" | "gatewayAddressRatePerSecond">,
) {
  const keys = createAddressShares("reads");
  const addresses = createLocalRateLimiter(undefined, "reads");
  return ({ keyId, address }: Caller, reads: number) => {
    const ofKey = rateLimits(options.gatewayRatePerSecond);
    const ofAddress = rateLimits(options.gatewayAddressRatePerSecond);
    // A message that costs more than the burst could never pass.
    const count = Math.min(reads, ofAddress.rateBurst, ofKey.rateBurst);
    const atAddress = { keyId, ...(address !== undefined && { address }), limits: ofAddress };
    if (address !== undefined) addresses.take(atAddress, count);
    try {
      keys.take({ ...atAddress, limits: ofKey }, count);
    } catch (error) {
      if (address !== undefined) addresses.refund(atAddress, count);
      throw error;
    }
  };
}
