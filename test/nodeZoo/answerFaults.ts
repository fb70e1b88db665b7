import type { SeededRandom } from "../support/seededRandom.js";
import { type CallError, type Exchange, errorReply, hasSend, type Reply, SEND } from "./exchange.js";
import type { ExchangeStrike, NodeFault } from "./nodeFault.js";
import type { Personality } from "./personality.js";
import { gatewayPage, randomReply } from "./troubleWords.js";

/** The ingredients of a fault: random numbers of its own, and the node that has it. */
export interface FaultOrigin {
  readonly random: SeededRandom;
  readonly personality: Personality;
}
export type MakeFault = (origin: FaultOrigin) => NodeFault;

/** Share of the sends, or exchanges, that a fault strikes while it lasts. */
const SHARE = 0.7;

const callFault =
  (when: "before" | "after", reply: (origin: FaultOrigin) => Reply): MakeFault =>
  (origin) => ({
    strikeCall: ({ method }) =>
      method === SEND && origin.random.chance(SHARE) ? { when, reply: reply(origin) } : undefined,
  });

/** Half of these faults strike exchanges of every kind, the others only exchanges with a send. */
const exchangeFault =
  (when: "before" | "after", how: (random: SeededRandom) => ExchangeStrike["how"]): MakeFault =>
  ({ random }) => {
    const readsToo = random.chance(0.5);
    const isStruck = (exchange: Exchange) => (readsToo || hasSend(exchange)) && random.chance(SHARE);
    return {
      strikeExchange: (exchange) => (isStruck(exchange) ? { when, how: how(random) } : undefined),
    };
  };

const trouble = ({ random, personality }: FaultOrigin): { error: CallError } => ({
  error: random.pick(personality.troubles),
});

const html413 = { status: 413, body: "<html><body><h1>413 Request Entity Too Large</h1></body></html>" };
const tooManyRequests = {
  ...{ status: 429, body: '{"error":"rate limit exceeded"}', contentType: "application/json" },
  headers: { "retry-after": "1" },
};

/** Faults of a node's answers, by name. */
export const ANSWER_FAULTS = {
  /** An error that says nothing of the transaction, which the node has not accepted. */
  troubleBefore: callFault("before", trouble),
  /** The same, and the node has accepted it. */
  troubleAfter: callFault("after", trouble),
  /** Words that `nodeErrors.ts` does not know, sometimes with the transaction accepted and sometimes not. */
  randomWords: ({ random }) => ({
    strikeCall: ({ method }) =>
      method === SEND && random.chance(SHARE)
        ? { when: random.pick(["before", "after"] as const), reply: randomReply(random) }
        : undefined,
  }),
  /** The node's pool is full, in the node's own words. */
  poolFull: ({ random, personality }) => ({
    strikeCall: ({ method }) =>
      method === SEND && random.chance(SHARE)
        ? {
            when: "before",
            reply: { error: personality.words.POOL_FULL({ nonce: "", expected: "", hash: "" }) },
          }
        : undefined,
  }),
  /** A proxy takes small requests only. */
  http413: ({ random }) => {
    const limit = random.between(2_000, 16_000);
    return {
      strikeExchange: ({ bytes }) => (bytes > limit ? { when: "before", how: html413 } : undefined),
    };
  },
  gatewayBefore: exchangeFault("before", gatewayPage),
  gatewayAfter: exchangeFault("after", gatewayPage),
  dropBefore: exchangeFault("before", () => "drop"),
  dropAfter: exchangeFault("after", () => "drop"),
  hangBefore: exchangeFault("before", () => "hang"),
  hangAfter: exchangeFault("after", () => "hang"),
  rateLimited: exchangeFault("before", () => tooManyRequests),
  /** A rate limit, as a JSON-RPC error of each call. */
  rateLimitedCalls: callFault("before", () =>
    errorReply(-32_005, "daily request count exceeded, request rate limited"),
  ),
  callLimit: ({ random }) => ({ limits: { calls: random.between(1, 10) } }),
  bodyLimit: ({ random }) => ({ limits: { requestBytes: random.between(1_500, 12_000) } }),
  responseLimit: ({ random }) => ({ limits: { responseBytes: random.between(100, 3_000) } }),
  slow: ({ random }) => ({ delayMs: () => random.between(300, 2_500) }),
  /** The validators' errors come without `data`, as through a proxy that rewrites errors. */
  bareErrors: () => ({
    change: (_, reply) => {
      if (!("error" in reply) || typeof reply.error !== "object" || reply.error === null) return reply;
      const { code, message } = reply.error as CallError;
      return { error: { code, message } };
    },
  }),
} satisfies Readonly<Record<string, MakeFault>>;
