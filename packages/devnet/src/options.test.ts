import { describe, expect, it } from "vitest";
import { createDevnet } from "./createDevnet.js";
import { InvalidDevnetOptionsError, resolveOptions } from "./options.js";

describe("the devnet's options", () => {
  it("all have defaults", () => {
    expect(resolveOptions({})).toMatchObject({
      blockTimeMs: 500,
      minGasPrice: 10n ** 9n,
      blockGasLimit: 10n ** 9n,
    });
  });

  it("are refused with every problem listed", async () => {
    const wrong = { blockTimeMs: -1, minGasPrice: 1 as unknown as bigint, poolLimit: 0, colour: "red" };
    await expect(createDevnet(wrong)).rejects.toThrow(InvalidDevnetOptionsError);
    await expect(createDevnet(wrong)).rejects.toMatchObject({
      problems: [
        "colour is not an option",
        "blockTimeMs is -1, not an integer from 0 to 2^31-1",
        "minGasPrice is 1, not a bigint of at least 0 wei",
        "poolLimit is 0, not an integer of at least 1",
      ],
    });
  });
});

describe("blocks at an interval", () => {
  it("are made without requests, empty ones included, until the devnet is closed", async () => {
    const devnet = await createDevnet({ blockTimeMs: 5, now: () => 1_700_000_000_000 });
    const blocks = await new Promise<number[]>((resolve) => {
      const seen: number[] = [];
      devnet.onBlock((block) => {
        expect(block.timestamp).toBe(1_700_000_000n);
        if (seen.push(block.number) === 3) resolve(seen);
      });
    });
    expect(blocks).toEqual([1, 2, 3]);
    await devnet.close();
    const head = await devnet.request({ method: "eth_blockNumber" });
    await new Promise((resolve) => setImmediate(resolve));
    expect(await devnet.request({ method: "eth_blockNumber" })).toBe(head);
  });
});
