import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { addressOf, signInner, signOrdinary, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";

const node = useTestNode();

const toUser = { to: hexToBytes(addressOf(0)), data: new Uint8Array(), value: 5n };

describe("eth_feeHistory", () => {
  it("has the prices of paid transactions by share of their gas, and the floor for blocks without any", async () => {
    const prices = [3n, 1n, 2n].map((gwei) => gwei * 10n ** 9n);
    await node.sendAndMine(
      wrap(signInner(0)),
      ...prices.map((gasPrice, i) => signOrdinary(13, { ...toUser, nonce: BigInt(i), gasPrice })),
    );
    await node.devnet.mine();
    const history = await node.rpc<Record<string, unknown>>("eth_feeHistory", "0x2", "latest", [0, 50, 100]);
    expect(history).toMatchObject({
      oldestBlock: "0x1",
      baseFeePerGas: ["0x0", "0x0", "0x0"],
      gasUsedRatio: [expect.any(Number), 0],
      reward: [
        ["0x3b9aca00", "0x77359400", "0xb2d05e00"],
        ["0x3b9aca00", "0x3b9aca00", "0x3b9aca00"],
      ],
    });
    await expect(node.rpc("eth_feeHistory", 1, "latest", [50, 10])).rejects.toMatchObject({ code: -32602 });
    expect(await node.rpc("eth_feeHistory", 0, "latest")).toMatchObject({ gasUsedRatio: [] });
  });
});
