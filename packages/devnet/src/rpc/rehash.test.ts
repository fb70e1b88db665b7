import { createMPT } from "@ethereumjs/mpt";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { encodeRlp, getBytes, keccak256, Transaction, type TransactionLike, toBeArray } from "ethers";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  addressOf,
  createTestNode,
  signInner,
  signOrdinary,
  type TestNode,
  transferData,
  wrap,
} from "../testing/node.js";

// Ethers hashes and encodes, EthereumJS' own trie makes the roots: nothing of ours takes part.

type Json = Record<string, Hex>;
const HEADER_FIELDS = [
  ["parentHash", "bytes"],
  ["sha3Uncles", "bytes"],
  ["miner", "bytes"],
  ["stateRoot", "bytes"],
  ["transactionsRoot", "bytes"],
  ["receiptsRoot", "bytes"],
  ["logsBloom", "bytes"],
  ["difficulty", "number"],
  ["number", "number"],
  ["gasLimit", "number"],
  ["gasUsed", "number"],
  ["timestamp", "number"],
  ["extraData", "bytes"],
  ["mixHash", "bytes"],
  ["nonce", "bytes"],
  ["baseFeePerGas", "number"],
  ["withdrawalsRoot", "bytes"],
  ["blobGasUsed", "number"],
  ["excessBlobGas", "number"],
  ["parentBeaconBlockRoot", "bytes"],
  ["requestsHash", "bytes"],
] as const;

const number = (value: string | undefined) => toBeArray(BigInt(value ?? "0x0"));

function headerHash(block: Json): string {
  return keccak256(
    encodeRlp(
      HEADER_FIELDS.map(([name, kind]) => (kind === "number" ? number(block[name]) : (block[name] ?? "0x"))),
    ),
  );
}

async function rootOf(items: readonly string[]): Promise<Hex> {
  const trie = await createMPT();
  for (const [i, item] of items.entries()) await trie.put(getBytes(encodeRlp(toBeArray(i))), getBytes(item));
  return bytesToHex(trie.root());
}

interface ReceiptJson {
  readonly type: Hex;
  readonly status: Hex;
  readonly cumulativeGasUsed: Hex;
  readonly logsBloom: Hex;
  readonly logs: readonly { readonly address: Hex; readonly topics: Hex[]; readonly data: Hex }[];
}

function encodeReceipt({ type, status, cumulativeGasUsed, logsBloom, logs }: ReceiptJson): string {
  const fields = [
    number(status),
    number(cumulativeGasUsed),
    logsBloom,
    logs.map(({ address, topics, data }) => [address, topics, data]),
  ];
  const payload = encodeRlp(fields);
  return type === "0x0" ? payload : `0x0${type.slice(2)}${payload.slice(2)}`;
}

let node: TestNode;
beforeEach(async () => {
  node = await createTestNode();
});
afterEach(() => node.devnet.close());

it("blocks fetched over JSON-RPC give their hashes and roots", async () => {
  await node.devnet.mine();
  await node.sendAndMine(
    signOrdinary(13, { to: hexToBytes(addressOf(0)), value: 5n, data: new Uint8Array() }),
    wrap(signInner(0)),
    wrap(signInner(1, { data: transferData(addressOf(9), 10n ** 30n) }), { nonce: 1n }),
    wrap(
      signInner(2, { type: "eip1559", maxFeePerGas: 0n, maxPriorityFeePerGas: 0n, accessList: [] } as object),
      {
        waiver: 11,
      },
    ),
    signOrdinary(13, {
      nonce: 1n,
      ...({
        type: "eip1559",
        maxFeePerGas: 2n * 10n ** 9n,
        maxPriorityFeePerGas: 10n ** 9n,
        accessList: [],
      } as object),
      to: undefined,
      data: hexToBytes("0x6001600c60003960016000f300"),
    }),
  );
  await node.devnet.mine();

  let parent = "";
  for (let i = 0; i <= 3; i++) {
    const block = await node.rpc<Json & { transactions: Json[] }>("eth_getBlockByNumber", `0x${i}`, true);
    expect(headerHash(block)).toBe(block.hash);
    if (i > 0) expect(block.parentHash).toBe(parent);
    parent = block.hash ?? "";

    const raws = await Promise.all(
      block.transactions.map((tx) => node.rpc<Hex>("eth_getRawTransactionByHash", tx.hash)),
    );
    expect(await rootOf(raws)).toBe(block.transactionsRoot);
    for (const [place, tx] of block.transactions.entries()) {
      expect(rebuilt(tx)).toMatchObject({ hash: tx.hash, serialized: raws[place] });
    }
    const receipts = await node.rpc<ReceiptJson[]>("eth_getBlockReceipts", `0x${i}`);
    expect(await rootOf(receipts.map(encodeReceipt))).toBe(block.receiptsRoot);
    expect(receipts.at(-1)?.cumulativeGasUsed ?? "0x0").toBe(block.gasUsed);
  }
});

/** The transaction that the JSON describes, made by ethers from its parts. */
function rebuilt(tx: Json): Transaction {
  const parts = {
    type: Number(tx.type),
    to: tx.to ?? null,
    nonce: Number(tx.nonce),
    gasLimit: BigInt(tx.gas ?? 0),
    value: BigInt(tx.value ?? 0),
    data: tx.input ?? "0x",
    chainId: BigInt(tx.chainId ?? 0),
    ...(tx.maxFeePerGas === undefined
      ? { gasPrice: BigInt(tx.gasPrice ?? 0) }
      : {
          maxFeePerGas: BigInt(tx.maxFeePerGas),
          maxPriorityFeePerGas: BigInt(tx.maxPriorityFeePerGas ?? 0),
        }),
    ...(tx.accessList && { accessList: tx.accessList as unknown as [] }),
    signature: {
      r: `0x${tx.r?.slice(2).padStart(64, "0")}`,
      s: `0x${tx.s?.slice(2).padStart(64, "0")}`,
      v: Number(tx.type === "0x0" ? tx.v : BigInt(tx.yParity ?? 0)),
    },
  };
  return Transaction.from(parts as TransactionLike);
}
