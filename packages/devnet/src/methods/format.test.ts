import { createMPT } from "@ethereumjs/mpt";
import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { encodeRlp, getBytes, keccak256, Transaction, type TransactionLike, toBeArray } from "ethers";
import { expect, it } from "vitest";
import { allowEverything, BYTECODE, place, wordOf } from "../../test/support/bytecode.js";
import { signDelegation } from "../../test/support/delegation.js";
import { addressOf, signInner, signOrdinary, transferData, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";

// Computes hashes and roots with ethers and EthereumJS' trie, without code of this project.

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
  readonly gasUsed: Hex;
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

const node = useTestNode();

/** Fetches a block and computes its hash, roots, blooms and gas again from its parts. */
async function rehash(number: number): Promise<Json & { readonly transactions: Json[] }> {
  const tag = `0x${number.toString(16)}`;
  const block = await node.rpc<Json & { transactions: Json[] }>("eth_getBlockByNumber", tag, true);
  expect(headerHash(block)).toBe(block.hash);
  const raws = await Promise.all(
    block.transactions.map((tx) => node.rpc<Hex>("eth_getRawTransactionByHash", tx.hash)),
  );
  expect(await rootOf(raws)).toBe(block.transactionsRoot);
  for (const [index, tx] of block.transactions.entries()) {
    expect(rebuilt(tx)).toMatchObject({ hash: tx.hash, serialized: raws[index] });
  }
  const receipts = await node.rpc<ReceiptJson[]>("eth_getBlockReceipts", tag);
  expect(await rootOf(receipts.map(encodeReceipt))).toBe(block.receiptsRoot);
  let cumulative = 0n;
  for (const { gasUsed, cumulativeGasUsed, logs, logsBloom } of receipts) {
    cumulative += BigInt(gasUsed);
    expect(BigInt(cumulativeGasUsed)).toBe(cumulative);
    expect(BigInt(logsBloom)).toBe(bloomOf(logs));
  }
  expect(BigInt(block.gasUsed ?? 0)).toBe(cumulative);
  expect(BigInt(block.logsBloom ?? 0)).toBe(bloomOf(receipts.flatMap(({ logs }) => logs)));
  return block;
}

/** The bloom filter of logs: three bits for each address and topic, each from two bytes of its hash. */
function bloomOf(logs: ReceiptJson["logs"]): bigint {
  let bloom = 0n;
  for (const item of logs.flatMap(({ address, topics }) => [address, ...topics])) {
    const hash = getBytes(keccak256(item));
    for (const i of [0, 2, 4]) bloom |= 1n << BigInt(((hash[i] ?? 0) * 256 + (hash[i + 1] ?? 0)) % 2048);
  }
  return bloom;
}

it("the JSON of fifty blocks of mixed transactions gives their hashes, roots, blooms and gas", async () => {
  const types = await mineMixedBlocks(50);
  let parent = "";
  const seen = new Map<string, number>();
  for (let i = 0; i <= 50; i++) {
    const block = await rehash(i);
    if (i > 0) expect(block.parentHash).toBe(parent);
    parent = block.hash ?? "";
    for (const { type = "" } of block.transactions) seen.set(type, (seen.get(type) ?? 0) + 1);
  }
  expect(Object.fromEntries([...seen].sort())).toEqual(types);
  expect(node.devnet.drops()).toEqual([]);
});

/** @returns the number of transactions of each type. */
async function mineMixedBlocks(count: number): Promise<Record<string, number>> {
  await allowEverything(node);
  const [logger, burner, creator] = [
    await place(node, 1, BYTECODE.logger),
    await place(node, 2, BYTECODE.burner),
    await place(node, 3, BYTECODE.creator),
  ].map(hexToBytes);
  const types: Record<string, number> = { "0x0": 0, "0x1": 0, "0x2": 0, "0x4": 0 };
  const nonces = new Map<number, bigint>();
  const next = (account: number) => {
    const nonce = nonces.get(account) ?? 0n;
    nonces.set(account, nonce + 1n);
    return nonce;
  };
  const typed = (kind: number, price: bigint): object => {
    types[`0x${kind}`] = (types[`0x${kind}`] ?? 0) + 1;
    const accessList = [{ address: logger, storageKeys: [wordOf(1n), wordOf(2n)] }];
    if (kind === 0) return { gasPrice: price };
    if (kind === 1) return { type: "eip2930", gasPrice: price, accessList };
    return { type: "eip1559", maxFeePerGas: price * 2n, maxPriorityFeePerGas: price, accessList: [] };
  };
  const pay = (kind: number, changes: object) =>
    signOrdinary(13, { nonce: next(13), data: new Uint8Array(), ...changes, ...typed(kind, 10n ** 9n) });
  const waive = (user: number, kind: number, changes: object) => {
    types["0x0"] = (types["0x0"] ?? 0) + 1;
    const inner = signInner(user, { nonce: next(user), ...changes, ...typed(kind, 0n) });
    return wrap(inner, { nonce: next(10) });
  };
  const failing = transferData(addressOf(9), 10n ** 30n);
  for (let i = 1; i <= count; i++) {
    if (i % 9 === 0) {
      await node.devnet.mine();
      continue;
    }
    const kind = i % 3;
    const raws = [
      pay(kind, { to: hexToBytes(`0x${i.toString(16).padStart(40, "5")}`), value: BigInt(i) }),
      waive(i % 10, (kind + 1) % 3, { data: transferData(addressOf((i + 1) % 10), BigInt(i)) }),
      waive((i + 1) % 10, (kind + 2) % 3, { to: logger, data: wordOf(BigInt(i)) }),
    ];
    if (i % 4 === 0) raws.push(pay(2, { to: undefined, data: hexToBytes("0x60015ff3") }));
    if (i % 5 === 0)
      raws.push(
        waive((i + 2) % 10, 0, { data: failing }),
        waive(i % 7, 2, { to: creator, data: wordOf(0n) }),
      );
    if (i % 6 === 0) raws.push(waive((i + 3) % 10, 1, { to: burner, data: new Uint8Array() }));
    if (i % 7 === 0) {
      types["0x4"] = (types["0x4"] ?? 0) + 1;
      raws.push(await delegate(next(13), BigInt(i / 7 - 1)));
    }
    if (i % 8 === 0) await node.rpc("anvil_setBalance", addressOf(i % 10), `0x${i.toString(16)}`);
    await node.sendAndMine(...raws);
  }
  return types;
}

/** Account 22 delegates to the token again; account 13 pays (EIP-7702). */
function delegate(nonce: bigint, authorizationNonce: bigint): Promise<Hex> {
  return signDelegation({
    authority: 22,
    contract: TEST_TOKEN_ADDRESS,
    authorizationNonce: Number(authorizationNonce),
    nonce: Number(nonce),
    to: 1,
  });
}

/** Builds the transaction that the JSON describes with ethers. */
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
    ...(tx.authorizationList && { authorizationList: authorizations(tx.authorizationList) }),
    signature: {
      r: `0x${tx.r?.slice(2).padStart(64, "0")}`,
      s: `0x${tx.s?.slice(2).padStart(64, "0")}`,
      v: Number(tx.type === "0x0" ? tx.v : BigInt(tx.yParity ?? 0)),
    },
  };
  return Transaction.from(parts as TransactionLike);
}

function authorizations(list: unknown): object[] {
  return (list as Json[]).map(({ address, chainId, nonce, r, s, yParity }) => ({
    address,
    chainId: BigInt(chainId ?? 0),
    nonce: BigInt(nonce ?? 0),
    signature: {
      r: `0x${r?.slice(2).padStart(64, "0")}`,
      s: `0x${s?.slice(2).padStart(64, "0")}`,
      yParity: Number(yParity),
    },
  }));
}
