import type { MakeFault } from "./answerFaults.js";
import { type Call, errorReply, type Reply, SEND } from "./exchange.js";
import type { NodeMoment } from "./nodeFault.js";

const STALE_BY_S = 7_200;

/** The latest block that was seen at least this long ago. */
function blockBefore(moment: NodeMoment, delayMs: number): number {
  const limit = performance.now() - delayMs;
  let block = moment.head;
  while (block > 0 && (moment.seenAt(block) ?? 0) > limit) block--;
  return block;
}

const NULL_REPLY: Reply = { result: null };
const isByHash = ({ method }: Call) =>
  method === "eth_getTransactionReceipt" || method === "eth_getTransactionByHash";

/** Faults of what a node shows of the chain, by name. */
export const READ_FAULTS = {
  /** Receipts come 1 to 30 s after the nonces. */
  lateReceipts: ({ random }) => {
    const delayMs = random.pick([1_000, 2_000, 4_000, 8_000, 15_000, 30_000]);
    return { viewFor: (moment) => ({ indexed: blockBefore(moment, delayMs) }) };
  },
  /** Nothing can be found by its hash. The node answers null or, unless it is on CometBFT, an error that says so. */
  indexOff: ({ random, personality }) => {
    const refuses = personality.name !== "cosmos" && random.chance(0.5);
    const refusal = errorReply(-32_000, "transaction indexing is in progress");
    return { change: (call, reply) => (isByHash(call) ? (refuses ? refusal : NULL_REPLY) : reply) };
  },
  /** The node's head stays where it was, hours ago; it still forwards the transactions that it receives. */
  staleHead: () => {
    let frozen: number | undefined;
    return {
      viewFor: (moment) => {
        frozen ??= Math.max(0, moment.head - 5);
        return { head: frozen, agedBy: STALE_BY_S };
      },
    };
  },
  /** The same, and it accepts nothing, because it knows no account's current nonce. */
  staleHeadRefusing: ({ personality }) => {
    let frozen: number | undefined;
    const error = personality.words.WRAPPER_NONCE_GAP({ nonce: "9", expected: "1", hash: "" });
    return {
      viewFor: (moment) => {
        frozen ??= Math.max(0, moment.head - 5);
        return { head: frozen, agedBy: STALE_BY_S };
      },
      strikeCall: ({ method }) => (method === SEND ? { when: "before", reply: { error } } : undefined),
    };
  },
  /** The calls of one batch are answered by two nodes of different heights. */
  splitBatch: ({ random }) => {
    const lag = random.between(1, 20);
    return {
      viewFor: ({ head }) => (random.chance(0.5) ? { head: Math.max(0, head - lag) } : undefined),
    };
  },
  /** Each request goes to one of two nodes of different heights. */
  flappingHead: ({ random }) => {
    const lag = random.between(1, 30);
    let isBehind = false;
    return {
      viewFor: ({ head }, place) => {
        if (place === 0) isBehind = random.chance(0.5);
        return isBehind ? { head: Math.max(0, head - lag) } : undefined;
      },
    };
  },
} satisfies Readonly<Record<string, MakeFault>>;
