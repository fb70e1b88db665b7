// The node of a load at a fixed rate: it accepts everything, and notes when it received each wrapper of the last minutes. "public"
// limits its requests as the chain's public endpoints do.
//
//   node node.mjs ["public"]
import { createRequestLimit } from "../../packages/devnet/dist/faults/requestLimit.js";
import { bytesToHex, crypto, hexToBytes, STABLE } from "../../packages/protocol/dist/index.js";
import { serveNode } from "../service/acceptingNode.mjs";
import { answerBenchmark } from "../service/contestant.mjs";

/** Blocks that the node keeps: a submission is final long before. */
const KEPT_BLOCKS = 600;
const KEPT_TIMES = 500_000;
const receivedAt = new Map();
const { requests: most, windowMs } = STABLE.publicRpcLimit;
const limit = createRequestLimit(process.argv[2] === "public" ? most : Number.POSITIVE_INFINITY, windowMs);
const counts = { requests: 0, refused: 0 };

const { url } = await serveNode({
  keptBlocks: KEPT_BLOCKS,
  limit() {
    const seconds = limit("", performance.now());
    counts.requests++;
    if (seconds !== undefined) counts.refused++;
    return seconds;
  },
  refuse(raw) {
    const hash = bytesToHex(crypto.keccak256(hexToBytes(raw)));
    if (!receivedAt.has(hash)) receivedAt.set(hash, Date.now());
    if (receivedAt.size > KEPT_TIMES) receivedAt.delete(receivedAt.keys().next().value);
    return undefined;
  },
});
answerBenchmark({
  url,
  close: async () => process.exit(0),
  answers: {
    received: ({ wrappers }) => wrappers.map((wrapper) => receivedAt.get(`0x${wrapper}`) ?? null),
    counts: () => counts,
  },
});
