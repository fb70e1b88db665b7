import { bytesToHex, type Hex, hexToBytes, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { setSlot } from "../../test/support/bytecode.js";
import { addressOf, hashOf, signInner, signOrdinary, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import type { SealedBlock } from "../block/block.js";
import { WaiverRegistry } from "../contracts/artifacts.js";
import { TEST_TOKEN } from "../presets/constants.js";
import { permissionSlot } from "../registry/policy.js";
import { mappingSlot } from "../registry/slots.js";
import { wordHex } from "../state/word.js";

const REGISTRY = bytesToHex(REGISTRY_ADDRESS);
const waiver = hexToBytes(addressOf(10));

describe("building a block (D8)", () => {
  const node = useTestNode();

  const changes: [name: string, change: () => Promise<unknown>, reason: string, value?: bigint][] = [
    [
      "whose waiver was revoked",
      () => setSlot(node, REGISTRY, wordHex(mappingSlot(waiver, BigInt(WaiverRegistry.slots.waivers))), 0n),
      "WAIVER_NOT_REGISTERED",
    ],
    [
      "whose policy was narrowed",
      () => setSlot(node, REGISTRY, permissionSlot(waiver, 1n, TEST_TOKEN, hexToBytes("0xa9059cbb"), 0), 0n),
      "SELECTOR_NOT_ALLOWED",
    ],
    ["whose waiver's nonce is used", () => node.rpc("anvil_setNonce", addressOf(10), "0x1"), "NONCE_TOO_LOW"],
    ["whose user's nonce is used", () => node.rpc("anvil_setNonce", addressOf(0), "0x1"), "NONCE_TOO_LOW"],
    [
      "whose user has spent the value",
      () => node.rpc("anvil_setBalance", addressOf(0), "0x6"),
      "INSUFFICIENT_BALANCE",
      7n,
    ],
  ];
  it.each(changes)(
    "drops a wrapper %s, gives the reason, and includes the other one",
    async (_name, change, reason, value = 0n) => {
      await node.rpc("anvil_setBalance", addressOf(0), "0x7");
      const [invalidated, valid] = [wrap(signInner(0, { value })), wrap(signInner(1), { waiver: 11 })];
      await node.send(invalidated);
      await node.send(valid);
      await change();
      const block = (await node.devnet.mine()) as SealedBlock;
      expect(node.devnet.drops()).toMatchObject([{ hash: hashOf(invalidated), reason }]);
      expect(block.transactions.map(({ tx }) => tx.hash)[0]).toBe(hashOf(valid));
      expect(block.transactions).toHaveLength(2);
      expect(await node.rpc("eth_getTransactionByHash", hashOf(invalidated))).toBeNull();
      const used = reason === "NONCE_TOO_LOW" ? 1n : 0n;
      expect((await node.nonce(10)) + (await node.nonce(0))).toBe(used);
    },
  );

  it("drops an ordinary transaction whose sender cannot pay any more", async () => {
    const raw: Hex = signOrdinary(13, { to: waiver, value: 5n, data: new Uint8Array() });
    await node.send(raw);
    await node.rpc("anvil_setBalance", addressOf(13), "0x1");
    expect(((await node.devnet.mine()) as SealedBlock).transactions).toHaveLength(0);
    expect(node.devnet.drops()).toMatchObject([{ hash: hashOf(raw), reason: "INSUFFICIENT_FUNDS" }]);
  });
});
