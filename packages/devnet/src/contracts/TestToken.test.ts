import {
  createPublicClient,
  custom,
  encodeFunctionData,
  maxUint256,
  parseSignature,
  hexToBytes as viemBytes,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { addressOf, hashOf, signOrdinary } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { devnetAccount } from "../presets/accounts.js";
import { DEVNET_CHAIN_ID, TEST_TOKEN, TEST_TOKEN_ADDRESS } from "../presets/constants.js";
import { TestToken } from "./artifacts.js";

describe("the test token", () => {
  const node = useTestNode();

  const read = <T>(functionName: string, ...args: unknown[]) =>
    createPublicClient({ transport: custom(node.devnet) }).readContract({
      address: TEST_TOKEN_ADDRESS,
      abi: TestToken.abi,
      functionName,
      args,
    } as never) as Promise<T>;

  async function call(functionName: string, args: unknown[]): Promise<string> {
    const data = viemBytes(encodeFunctionData({ abi: TestToken.abi, functionName, args } as never));
    const raw = signOrdinary(13, { to: TEST_TOKEN, data, nonce: await node.nonce(13), gasLimit: 200_000n });
    await node.sendAndMine(raw);
    return (await node.receipt(hashOf(raw))).status;
  }

  async function permit(deadline: bigint, value = 5n) {
    const domain = {
      name: "USDT0",
      version: "1",
      chainId: DEVNET_CHAIN_ID,
      verifyingContract: TEST_TOKEN_ADDRESS,
    };
    const signature = await privateKeyToAccount(devnetAccount(0).privateKey).signTypedData({
      domain,
      types: {
        Permit: [
          { name: "owner", type: "address" },
          { name: "spender", type: "address" },
          { name: "value", type: "uint256" },
          { name: "nonce", type: "uint256" },
          { name: "deadline", type: "uint256" },
        ],
      },
      primaryType: "Permit",
      message: { owner: addressOf(0), spender: addressOf(13), value, nonce: 0n, deadline },
    });
    const { r, s, yParity } = parseSignature(signature);
    return [addressOf(0), addressOf(13), 5n, deadline, 27 + yParity, r, s];
  }

  it("gives its whole supply to the users in genesis", async () => {
    expect(await read("totalSupply")).toBe(10_000_000n * 10n ** 18n);
    expect(await read("symbol")).toBe("USDT0");
    expect(await read("decimals")).toBe(18);
    for (let i = 0; i < 10; i++) expect(await node.tokens(i)).toBe(1_000_000n * 10n ** 18n);
    expect(await node.tokens(10)).toBe(0n);
  });

  it("accepts a permit once, and lets the spender spend the allowance (EIP-2612)", async () => {
    const signed = await permit(maxUint256);
    expect(await call("permit", signed)).toBe("0x1");
    expect(await read("allowance", addressOf(0), addressOf(13))).toBe(5n);
    expect(await call("permit", signed)).toBe("0x0");
    expect(await call("transferFrom", [addressOf(0), addressOf(13), 6n])).toBe("0x0");
    expect(await call("transferFrom", [addressOf(0), addressOf(13), 5n])).toBe("0x1");
    expect(await node.tokens(13)).toBe(5n);
    expect(await read("allowance", addressOf(0), addressOf(13))).toBe(0n);
  });

  it("refuses a permit that has expired or was signed for another value", async () => {
    expect(await call("permit", await permit(1n))).toBe("0x0");
    expect(await call("permit", await permit(maxUint256, 6n))).toBe("0x0");
  });

  it("reverts a transfer without balance with InsufficientBalance", async () => {
    await expect(
      createPublicClient({ transport: custom(node.devnet) }).simulateContract({
        address: TEST_TOKEN_ADDRESS,
        abi: TestToken.abi,
        functionName: "transfer",
        args: [addressOf(0), 1n],
        account: addressOf(13),
      }),
    ).rejects.toThrow("InsufficientBalance");
  });
});
