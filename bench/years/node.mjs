// The node of bench:years. To it, the known outcomes of the store have used their senders' nonces.
//
//   node node.mjs <the waiver's first nonce> <file of signed transactions, of which the first are the known ones>
import { readFileSync } from "node:fs";
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { bytesToHex, parseInnerTx, recoverSender } from "../../packages/protocol/dist/index.js";
import { serveNode } from "../service/acceptingNode.mjs";
import { answerBenchmark } from "../service/contestant.mjs";
import { KNOWN } from "./shape.mjs";

const [firstNonce, file] = process.argv.slice(2);
await useNativeCrypto();
const known = readFileSync(file, "utf8").split("\n", KNOWN).map(parseInnerTx);
const usedNonces = known.map((tx) => ({ sender: bytesToHex(recoverSender(tx)), nonce: Number(tx.nonce) }));
const { url } = await serveNode({ firstNonce: Number(firstNonce), usedNonces });
answerBenchmark({ url, close: async () => process.exit(0) });
