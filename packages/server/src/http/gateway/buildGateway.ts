import { createAnswerCache } from "../../gateway/answerCache.js";
import { BlockFeed, type NewBlocks } from "../../gateway/feed/blockFeed.js";
import { SubscriptionLimits } from "../../gateway/feed/subscriptionLimits.js";
import { Gateway } from "../../gateway/gateway.js";
import { createMethods } from "../../gateway/methods.js";
import { createNodeReader, type GatewayRpc } from "../../gateway/nodeReader.js";
import { type LimitedCaller, partyOf, type RateLimits } from "../../model/keys/caller.js";
import { PRICES } from "../../model/prices.js";
import { SMALL } from "../../util/loopQueue.js";
import { bucketsOf, Rates, type RateUnit } from "../limits/rates.js";
import type { RouteServices } from "../routes/routeHandler.js";

export interface GatewayServices extends Omit<RouteServices, "sockets"> {
  /** The nodes, over connections of the gateway alone. */
  readonly gatewayRpc: GatewayRpc;
  readonly blocks: NewBlocks;
}

/** The gateway, with what its WebSockets share. */
export interface GatewayParts {
  readonly gateway: Gateway;
  readonly blockFeed: BlockFeed;
  readonly subscriptionLimits: SubscriptionLimits;
  readonly countNotified: CountOfParty;
}

/** Builds the gateway from the parts that the other routes use too. */
export function buildGateway(services: GatewayServices): GatewayParts {
  const { options, gatewayRpc, blocks, bodyMemory, policy, readLimiter, health, log, loop } = services;
  const cache = createAnswerCache({ height: blocks.height, reorgDepth: options.reorgDepth });
  blocks.onRewind(cache.clear);
  const methods = createMethods({
    ...services,
    node: createNodeReader(
      gatewayRpc,
      cache,
      (caller) => ({
        ...bodyMemory.openReservation(caller),
        // It is parsed, and written again.
        turn: (bytes) => loop.run(partyOf(caller), 2 * bytes * PRICES.parsedByte, () => {}),
      }),
      (caller) => loop.charge(partyOf(caller), PRICES.call, SMALL),
    ),
    policies: { current: policy.policies },
    storeTurns: readLimiter,
    version: health.version,
  });
  const countReads = countParties(
    () => ({
      ofKey: rateLimits(options.gatewayRatePerSecond),
      ofAddress: rateLimits(options.gatewayAddressRatePerSecond),
    }),
    "reads",
  );
  const gateway = new Gateway({
    ...{ methods, countReads, log },
    maxAnswerBytes: options.gatewayAnswerBytes,
  });
  return {
    gateway,
    blockFeed: new BlockFeed({ rpc: gatewayRpc, newBlocks: blocks, log }),
    subscriptionLimits: new SubscriptionLimits(),
    countNotified: countParties(() => NOTIFIED_BYTES, "bytes"),
  };
}

/** Counts something of a party. @throws {@link RateRefusal}, and then counts nothing. */
type CountOfParty = (caller: LimitedCaller, count: number) => void;

/** The rates of a key on one replica, and of each address under a publishable one. */
interface PartyRates {
  readonly ofKey: RateLimits;
  readonly ofAddress: RateLimits;
}

/**
 * Counts for the address under a publishable key, and for the whole key, which its addresses share: pages that run wild cost
 * their addresses alone.
 */
function countParties(limits: () => PartyRates, unit: RateUnit): CountOfParty {
  const rates = new Rates(unit);
  return (caller, asked) => {
    const { keyId, address } = caller;
    const { ofKey, ofAddress } = limits();
    const shared = bucketsOf({ keyId }, ofKey).map((bucket) => ({ ...bucket, part: address }));
    const buckets = address === undefined ? shared : [...bucketsOf(caller, ofAddress), ...shared];
    // A count above the burst could never pass.
    rates.take(buckets, Math.min(asked, ofAddress.rateBurst, ofKey.rateBurst));
  };
}

function rateLimits(ratePerSecond: number): RateLimits {
  return { ratePerSecond, rateBurst: 2 * ratePerSecond };
}

/** The bytes of notifications: a block of many logs may come at once, and what is beyond that waits. */
export const NOTIFIED_BYTES = {
  ofKey: { ratePerSecond: 8_388_608, rateBurst: 67_108_864 },
  ofAddress: { ratePerSecond: 2_097_152, rateBurst: 16_777_216 },
};
