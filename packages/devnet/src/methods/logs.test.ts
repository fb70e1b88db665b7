import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { BYTECODE, place, wordOf } from "../../test/support/bytecode.js";
import { addressOf, signOrdinary } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";

const node = useTestNode();

type Log = { readonly blockNumber: Hex; readonly topics: Hex[]; readonly data: Hex; readonly address: Hex };
const topic = (value: bigint) => bytesToHex(wordOf(value));

describe("eth_getLogs", () => {
  let loggers: Hex[];
  let nonce: bigint;
  /** Makes one block, in which each logger logs each of the values. */
  async function log(...values: bigint[]) {
    const raws = loggers.flatMap((logger) =>
      values.map((value) =>
        signOrdinary(13, { nonce: nonce++, to: hexToBytes(logger), data: wordOf(value) }),
      ),
    );
    await node.sendAndMine(...raws);
  }
  const logsFor = async (filter: object) =>
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

  it("reads ranges, open ones and ones beyond the latest block included", async () => {
    const secondTopicOfFirstLogger = { topics: [topic(2n)], address: loggers[0] };
    expect(await logsFor({ ...secondTopicOfFirstLogger, fromBlock: "0x0" })).toEqual([
      [1, 2, 0],
      [3, 2, 0],
    ]);
    expect(await logsFor({ ...secondTopicOfFirstLogger, fromBlock: "earliest", toBlock: "0x2" })).toEqual([
      [1, 2, 0],
    ]);
    expect(await logsFor({ ...secondTopicOfFirstLogger, fromBlock: "0x2", toBlock: "0xffff" })).toEqual([
      [3, 2, 0],
    ]);
    expect(await logsFor({ ...secondTopicOfFirstLogger })).toEqual([[3, 2, 0]]);
    expect(await logsFor({ ...secondTopicOfFirstLogger, fromBlock: "0x9" })).toEqual([]);
    await expect(logsFor({ fromBlock: "0x2", toBlock: "0x1" })).rejects.toMatchObject({ code: -32602 });
  });

  it("reads one block by its hash", async () => {
    const { hash } = await node.rpc<{ hash: Hex }>("eth_getBlockByNumber", "0x1");
    expect(await logsFor({ blockHash: hash, topics: [topic(1n)] })).toEqual([
      [1, 1, 0],
      [1, 1, 1],
    ]);
    await expect(logsFor({ blockHash: topic(5n) })).rejects.toThrow("header not found");
  });

  it("matches alternatives of addresses and of topics", async () => {
    expect(
      await logsFor({ fromBlock: "0x0", topics: [[topic(1n), topic(3n)]], address: loggers[1] }),
    ).toEqual([
      [1, 1, 1],
      [3, 3, 1],
    ]);
    expect(await logsFor({ fromBlock: "0x0", address: loggers })).toHaveLength(8);
    expect(await logsFor({ fromBlock: "0x0", address: [], topics: [null] })).toHaveLength(8);
    expect(await logsFor({ fromBlock: "0x0", topics: [null, null] })).toEqual([]);
    expect(await logsFor({ fromBlock: "0x0", address: addressOf(1) })).toEqual([]);
  });

  it("finds the few logs of a long range", async () => {
    await node.rpc("evm_mine", { blocks: 2_000 });
    await log(77n);
    expect(await logsFor({ fromBlock: "0x0", topics: [topic(77n)] })).toEqual([
      [2_004, 77, 0],
      [2_004, 77, 1],
    ]);
  });
});
