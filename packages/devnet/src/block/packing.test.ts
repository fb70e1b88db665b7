import { hexToBytes } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import {
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  transferData,
  wrap,
} from "../../test/support/testNode.js";

it("a block reads the same after its transactions are packed", async () => {
  const node = await createTestNode();
  const failing = transferData("0x1111111111111111111111111111111111111111", 10n ** 30n);
  const create = { to: undefined, data: hexToBytes("0x600160005500"), gasLimit: 200_000n };
  const inners = [signInner(0), signInner(1, { data: failing })];
  const raws = [
    ...inners.map((inner, i) => wrap(inner, { nonce: BigInt(i) })),
    signOrdinary(13, create),
    signOrdinary(20, { to: hexToBytes("0x2222222222222222222222222222222222222222"), value: 7n }),
  ];
  await node.sendAndMine(...raws);
  const read = async () => ({
    block: await node.rpc("eth_getBlockByNumber", "0x1", true),
    receipts: await node.rpc("eth_getBlockReceipts", "0x1"),
    logs: await node.rpc("eth_getLogs", { fromBlock: "0x0", toBlock: "0x1" }),
    receipt: await node.receipt(hashOf(raws[2] ?? "0x")),
  });
  const before = await read();
  expect(before.receipts).toHaveLength(6);
  expect(before.logs).toHaveLength(1);
  expect(before.receipt.contractAddress).not.toBeNull();
  for (let i = 0; i < 40; i++) await node.devnet.mine();
  expect(await read()).toEqual(before);
  await node.devnet.close();
});
