// A node that accepts every wrapper and keeps no state but the waiver's nonce. The nonces of all other accounts are 0,
// because each user of the load sends once. The next block has each wrapper with its InnerTx.
//
//   node node.mjs <the waiver's first nonce>
import { createServer } from "node:http";
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { bytesToHex, crypto, decodeTransaction, hexToBytes } from "../../packages/protocol/dist/index.js";
import { answerBenchmark } from "./contestant.mjs";
import { BLOCK_MS, CHAIN_ID, GENESIS_HASH, WAIVER } from "./shape.mjs";

await useNativeCrypto();
const waiver = WAIVER.address.toLowerCase();
/** The waiver's next nonce by the latest block, and with the transactions that wait for a block. */
let latest = Number(process.argv[2] ?? 0);
let pending = latest;
let head = 1;
/** Accepted nonces, until all lower ones are accepted. */
const early = new Set();
/** Block numbers by transaction hash, of wrappers and InnerTxs. */
const blocks = new Map();

setInterval(() => {
  head++;
  latest = pending;
}, BLOCK_MS);

const quantity = (value) => `0x${value.toString(16)}`;
const hashOf = (number) => (number === 0 ? GENESIS_HASH : `0x${number.toString(16).padStart(64, "0")}`);

function accept(text) {
  const raw = hexToBytes(text);
  const hash = bytesToHex(crypto.keccak256(raw));
  if (blocks.has(hash)) return hash;
  const { nonce, data } = decodeTransaction(raw);
  early.add(Number(nonce));
  while (early.delete(pending)) pending++;
  blocks.set(hash, head + 1);
  blocks.set(bytesToHex(crypto.keccak256(data)), head + 1);
  return hash;
}

function block(tag) {
  const number = tag.startsWith("0x") ? Number(tag) : head;
  if (number > head) return null;
  return {
    number: quantity(number),
    hash: hashOf(number),
    parentHash: hashOf(Math.max(0, number - 1)),
    timestamp: quantity(Math.floor(Date.now() / 1_000)),
    transactions: [],
  };
}

function receipt(hash) {
  const number = blocks.get(hash);
  if (number === undefined || number > head) return null;
  return {
    transactionHash: hash,
    blockNumber: quantity(number),
    blockHash: hashOf(number),
    gasUsed: "0xb71b",
    status: "0x1",
  };
}

const METHODS = {
  eth_chainId: () => quantity(CHAIN_ID),
  net_version: () => String(CHAIN_ID),
  eth_blockNumber: () => quantity(head),
  eth_gasPrice: () => "0x0",
  eth_getBlockByNumber: block,
  eth_getTransactionCount(address, tag) {
    if (address.toLowerCase() !== waiver) return "0x0";
    return quantity(tag === "pending" ? pending : latest);
  },
  eth_getTransactionReceipt: receipt,
  eth_getTransactionByHash: (hash) => (blocks.has(hash) ? { hash } : null),
  eth_sendRawTransaction: accept,
};

function answer({ id, method, params = [] }) {
  const run = METHODS[method];
  if (run === undefined) {
    return { jsonrpc: "2.0", id, error: { code: -32601, message: `${method} is not a method of this node` } };
  }
  return { jsonrpc: "2.0", id, result: run(...params) };
}

const server = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8").on("data", (part) => {
    text += part;
  });
  request.on("end", () => {
    const body = JSON.parse(text);
    const answered = JSON.stringify(Array.isArray(body) ? body.map(answer) : answer(body));
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(answered),
    });
    response.end(answered);
  });
});
server.listen(0, "127.0.0.1", () => {
  answerBenchmark({ url: `http://127.0.0.1:${server.address().port}`, close: async () => process.exit(0) });
});
