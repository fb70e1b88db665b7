// A node that accepts every wrapper of several waivers, and counts them.
import { bytesToHex, decodeTransaction, recoverSender } from "../../packages/protocol/dist/index.js";
import { serveNode } from "../service/acceptingNode.mjs";
import { answerBenchmark } from "../service/contestant.mjs";

const { url, accepted } = await serveNode({
  waiverOf: (raw) => bytesToHex(recoverSender(decodeTransaction(raw))),
});
answerBenchmark({ url, close: async () => process.exit(0), answers: { accepted } });
