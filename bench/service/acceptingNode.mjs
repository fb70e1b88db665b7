import { createServer } from "node:http";
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { bytesToHex, crypto, decodeTransaction, hexToBytes } from "../../packages/protocol/dist/index.js";
import { BLOCK_MS, CHAIN_ID, GENESIS_HASH, WAIVER } from "./shape.mjs";

await useNativeCrypto();

const ONLY_WAIVER = WAIVER.address.toLowerCase();

const quantity = (value) => `0x${value.toString(16)}`;
const hashOf = (number) => (number === 0 ? GENESIS_HASH : `0x${number.toString(16).padStart(64, "0")}`);

/** The nonces of accounts, by the latest block and with the transactions that wait for the next one. */
class Nonces {
  #latest = new Map();
  #pending = new Map();
  /** Accepted nonces by account, until all lower ones are accepted. */
  #early = new Map();

  constructor(account, first) {
    this.#latest.set(account, first);
    this.#pending.set(account, first);
  }

  accept(account, nonce) {
    const early = this.#early.get(account) ?? new Set();
    this.#early.set(account, early.add(nonce));
    let next = this.#pending.get(account) ?? 0;
    while (early.delete(next)) next++;
    this.#pending.set(account, next);
  }

  endBlock() {
    for (const [account, next] of this.#pending) this.#latest.set(account, next);
  }

  of(account, tag) {
    return (tag === "pending" ? this.#pending : this.#latest).get(account) ?? 0;
  }
}

function blockOf(tag, head) {
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

function receiptOf(hash, number, head) {
  if (number === undefined || number > head) return null;
  return {
    transactionHash: hash,
    blockNumber: quantity(number),
    blockHash: hashOf(number),
    gasUsed: "0xb71b",
    status: "0x1",
  };
}

/**
 * Starts a node that accepts every wrapper and executes nothing: it keeps the nonces, and the block of each transaction.
 * The next block has each wrapper with its InnerTx.
 * @param {object} options
 * @param {number} [options.firstNonce] the waiver's first nonce.
 * @param {(inner: Uint8Array) => { sender: string, nonce: number }} [options.readInner] Without it, the nonces of the
 * users are always 0: each sends once.
 * @param {(raw: string) => { error: object } | { status: number } | undefined} [options.refuse] Returns the answer to a
 * wrapper that the node does not take. A status answers the whole request, of which nothing is carried out.
 * @param {() => number | undefined} [options.limit] Asked for each request: the seconds of a `Retry-After` where it is one too many.
 * @param {(raw: Uint8Array) => string} [options.waiverOf] Returns the address that signed a wrapper, where there are
 * several waivers.
 * @param {{ sender: string, nonce: number }[]} [options.usedNonces] The nonces that users have used before.
 * @param {number} [options.keptBlocks] The node forgets the transactions of older blocks, so that its memory stays flat.
 */
export async function serveNode({
  firstNonce = 0,
  readInner,
  refuse = () => undefined,
  limit = () => undefined,
  usedNonces = [],
  keptBlocks = Number.POSITIVE_INFINITY,
  waiverOf = () => ONLY_WAIVER,
}) {
  const nonces = new Nonces(ONLY_WAIVER, firstNonce);
  for (const { sender, nonce } of usedNonces) nonces.accept(sender, nonce);
  /** Block numbers by transaction hash, of wrappers and InnerTxs. */
  const blocks = new Map();
  let head = 1;
  setInterval(() => {
    head++;
    nonces.endBlock();
    for (const [hash, number] of blocks) {
      if (number >= head - keptBlocks) break;
      blocks.delete(hash);
    }
  }, BLOCK_MS);

  function accept(text) {
    const raw = hexToBytes(text);
    const hash = bytesToHex(crypto.keccak256(raw));
    if (blocks.has(hash)) return hash;
    const { nonce, data } = decodeTransaction(raw);
    nonces.accept(waiverOf(raw), Number(nonce));
    if (readInner) {
      const inner = readInner(data);
      nonces.accept(inner.sender, inner.nonce);
    }
    blocks.set(hash, head + 1);
    blocks.set(bytesToHex(crypto.keccak256(data)), head + 1);
    return hash;
  }

  const methods = {
    eth_chainId: () => quantity(CHAIN_ID),
    net_version: () => String(CHAIN_ID),
    eth_blockNumber: () => quantity(head),
    eth_gasPrice: () => "0x0",
    eth_getBlockByNumber: (tag) => blockOf(tag, head),
    eth_getTransactionCount: (address, tag) => quantity(nonces.of(address.toLowerCase(), tag)),
    eth_getTransactionReceipt: (hash) => receiptOf(hash, blocks.get(hash), head),
    eth_getTransactionByHash: (hash) => (blocks.has(hash) ? { hash } : null),
    eth_sendRawTransaction: accept,
  };
  return { url: await listen(methods, refuse, limit), accepted: () => blocks.size / 2 };
}

function answerCall({ id, method, params = [] }, methods, refusal) {
  if (refusal) return { jsonrpc: "2.0", id, error: refusal.error };
  const run = methods[method];
  if (run === undefined) {
    return { jsonrpc: "2.0", id, error: { code: -32601, message: `${method} is not a method of this node` } };
  }
  return { jsonrpc: "2.0", id, result: run(...params) };
}

/** Answers a request of one call or a batch. */
function answerRequest(text, methods, refuse) {
  const body = JSON.parse(text);
  const calls = Array.isArray(body) ? body : [body];
  const refusals = calls.map(({ method, params }) =>
    method === "eth_sendRawTransaction" ? refuse(params[0]) : undefined,
  );
  const status = refusals.find((refusal) => refusal?.status)?.status;
  if (status !== undefined) return { status, answerText: "refused" };
  const answers = calls.map((call, i) => answerCall(call, methods, refusals[i]));
  return { status: 200, answerText: JSON.stringify(Array.isArray(body) ? answers : answers[0]) };
}

async function listen(methods, refuse, limit) {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      const seconds = limit();
      if (seconds !== undefined) return response.writeHead(429, { "retry-after": seconds }).end();
      const { status, answerText } = answerRequest(text, methods, refuse);
      response.writeHead(status, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(answerText),
      });
      response.end(answerText);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${server.address().port}`;
}
