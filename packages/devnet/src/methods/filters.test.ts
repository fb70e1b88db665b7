import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { BYTECODE, place, wordOf } from "../testing/bytecode.js";
import {
  addressOf,
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  type TestNode,
  wrap,
} from "../testing/node.js";
import { FILTER_LIFE_MS } from "./filterMethods.js";

let node: TestNode;
let now: number;
beforeEach(async () => {
  now = 1_700_000_000_000;
  node = await createTestNode({ now: () => now });
});
afterEach(() => node.devnet.close());

type Log = { readonly blockNumber: Hex; readonly topics: Hex[]; readonly data: Hex; readonly address: Hex };
const topic = (value: bigint) => bytesToHex(wordOf(value));

describe("filters", () => {
  it("of blocks give the hashes since one asked", async () => {
    const id = await node.rpc("eth_newBlockFilter");
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
    const blocks = [await node.devnet.mine(), await node.devnet.mine()];
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual(blocks.map(({ hash }) => hash));
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
    await expect(node.rpc("eth_getFilterLogs", id)).rejects.toThrow("filter not found");
  });

  it("of logs give the new ones, and all of their range when asked for", async () => {
    await node.sendAndMine(wrap(signInner(0)));
    const id = await node.rpc("eth_newFilter", { address: TEST_TOKEN_ADDRESS, fromBlock: "0x0" });
    await node.sendAndMine(wrap(signInner(1), { nonce: 1n }));
    expect(await node.rpc<Log[]>("eth_getFilterChanges", id)).toMatchObject([{ blockNumber: "0x2" }]);
    expect(await node.rpc<Log[]>("eth_getFilterLogs", id)).toMatchObject([
      { blockNumber: "0x1" },
      { blockNumber: "0x2" },
    ]);
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
  });

  it("of waiting transactions give the hashes since one asked", async () => {
    const id = await node.rpc("eth_newPendingTransactionFilter");
    const inner = signInner(0);
    await node.send(wrap(inner));
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([
      hashOf(wrap(inner)),
      hashOf(bytesToHex(inner.raw)),
    ]);
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([]);
  });

  it("end when uninstalled, and when nobody asks for five minutes", async () => {
    const [gone, asked, forgotten] = await Promise.all(
      [1, 2, 3].map(() => node.rpc<string>("eth_newBlockFilter")),
    );
    expect(await node.rpc("eth_uninstallFilter", gone)).toBe(true);
    expect(await node.rpc("eth_uninstallFilter", gone)).toBe(false);
    await expect(node.rpc("eth_getFilterChanges", gone)).rejects.toMatchObject({ code: -32000 });
    now += FILTER_LIFE_MS - 1;
    expect(await node.rpc("eth_getFilterChanges", asked)).toEqual([]);
    now += 1;
    expect(await node.rpc("eth_getFilterChanges", asked)).toEqual([]);
    await expect(node.rpc("eth_getFilterChanges", forgotten)).rejects.toThrow(
      `filter not found: "${forgotten}"`,
    );
  });

  it("follow a chain that goes back", async () => {
    const snapshot = await node.rpc("evm_snapshot");
    const id = await node.rpc("eth_newBlockFilter");
    await node.devnet.mine();
    await node.devnet.mine();
    await node.rpc("eth_getFilterChanges", id);
    await node.rpc("evm_revert", snapshot);
    now += 5_000;
    const { hash } = await node.devnet.mine();
    expect(await node.rpc("eth_getFilterChanges", id)).toEqual([hash]);
  });
});

describe("eth_getLogs", () => {
  let loggers: Hex[];
  let nonce: bigint;
  /** One block in which each logger logs each of the values. */
  async function log(...values: bigint[]) {
    const raws = loggers.flatMap((logger) =>
      values.map((value) =>
        signOrdinary(13, { nonce: nonce++, to: hexToBytes(logger), data: wordOf(value) }),
      ),
    );
    await node.sendAndMine(...raws);
  }
  const found = async (filter: object) =>
    (await node.rpc<Log[]>("eth_getLogs", filter)).map(({ blockNumber, data, address }) => [
      Number(blockNumber),
      Number(BigInt(data)),
      loggers.indexOf(address),
    ]);

  beforeEach(async () => {
    nonce = 0n;
    loggers = [await place(node, 1, BYTECODE.logger), await place(node, 2, BYTECODE.logger)];
    await log(1n, 2n);
    await node.devnet.mine();
    await log(2n, 3n);
  });

  it("takes ranges, also ones that reach beyond the chain or are open", async () => {
    const only = { topics: [topic(2n)], address: loggers[0] };
    expect(await found({ ...only, fromBlock: "0x0" })).toEqual([
      [1, 2, 0],
      [3, 2, 0],
    ]);
    expect(await found({ ...only, fromBlock: "earliest", toBlock: "0x2" })).toEqual([[1, 2, 0]]);
    expect(await found({ ...only, fromBlock: "0x2", toBlock: "0xffff" })).toEqual([[3, 2, 0]]);
    expect(await found({ ...only })).toEqual([[3, 2, 0]]);
    expect(await found({ ...only, fromBlock: "0x9" })).toEqual([]);
    await expect(found({ fromBlock: "0x2", toBlock: "0x1" })).rejects.toMatchObject({ code: -32602 });
  });

  it("takes one block by its hash", async () => {
    const { hash } = await node.rpc<{ hash: Hex }>("eth_getBlockByNumber", "0x1");
    expect(await found({ blockHash: hash, topics: [topic(1n)] })).toEqual([
      [1, 1, 0],
      [1, 1, 1],
    ]);
    await expect(found({ blockHash: topic(5n) })).rejects.toThrow("header not found");
  });

  it("takes alternatives of addresses and of topics", async () => {
    expect(await found({ fromBlock: "0x0", topics: [[topic(1n), topic(3n)]], address: loggers[1] })).toEqual([
      [1, 1, 1],
      [3, 3, 1],
    ]);
    expect(await found({ fromBlock: "0x0", address: loggers })).toHaveLength(8);
    expect(await found({ fromBlock: "0x0", address: [], topics: [null] })).toHaveLength(8);
    expect(await found({ fromBlock: "0x0", topics: [null, null] })).toEqual([]);
    expect(await found({ fromBlock: "0x0", address: addressOf(1) })).toEqual([]);
  });

  it("finds the few logs of a long range", async () => {
    await node.rpc("evm_mine", { blocks: 2_000 });
    await log(77n);
    expect(await found({ fromBlock: "0x0", topics: [topic(77n)] })).toEqual([
      [2_004, 77, 0],
      [2_004, 77, 1],
    ]);
  });
});
