// A node that accepts every transaction but two marked kinds: it answers one with an unknown error, and the other with the
// status 413 of a proxy.
import { bytesToHex, decodeInnerTx, recoverSender } from "../../packages/protocol/dist/index.js";
import { serveNode } from "../service/acceptingNode.mjs";
import { answerBenchmark } from "../service/contestant.mjs";
import { TOO_LARGE, UNKNOWN_ERROR } from "./troubles.mjs";

const { url } = await serveNode({
  readInner(raw) {
    const inner = decodeInnerTx(raw);
    return { sender: bytesToHex(recoverSender(inner)), nonce: Number(inner.nonce) };
  },
  refuse(raw) {
    if (raw.includes(TOO_LARGE)) return { status: 413 };
    if (raw.includes(UNKNOWN_ERROR))
      return { error: { code: -32_000, message: "an error that no relay knows" } };
    return undefined;
  },
});
answerBenchmark({ url, close: async () => process.exit(0) });
