// The node that accepts everything, as a process of its own.
//
//   node node.mjs <the waiver's first nonce>
import { serveNode } from "./acceptingNode.mjs";
import { answerBenchmark } from "./contestant.mjs";

const { url } = await serveNode({ firstNonce: Number(process.argv[2] ?? 0) });
answerBenchmark({ url, close: async () => process.exit(0) });
