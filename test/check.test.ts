// Dry runs with the SDK against a real chain: refusals, and the simulated outcome of each call.
import { AbiCoder, concat, id, type TransactionLike, toBeHex, toUtf8Bytes, ZeroAddress } from "ethers";
import { beforeAll, describe, expect, it } from "vitest";
import { registryService } from "./support/registryService.js";
import { account, TOKEN, transferData, transferOf } from "./support/user.js";

const WAIVER = account(10).address;
const RECIPIENT = account(9).address;
const selectorOf = (signature: string) => id(signature).slice(0, 10);
const coder = AbiCoder.defaultAbiCoder();

/** The revert data of some contracts, by address. */
const REVERTS = {
  "0x00000000000000000000000000000000c0de0001": concat([
    selectorOf("Error(string)"),
    coder.encode(["string"], ["not on a Sunday"]),
  ]),
  "0x00000000000000000000000000000000c0de0002": concat([
    selectorOf("Panic(uint256)"),
    coder.encode(["uint256"], [0x12]),
  ]),
  "0x00000000000000000000000000000000c0de0003": "0x",
} as const;
const [TEXT = "", PANIC = "", EMPTY = ""] = Object.keys(REVERTS);
/** A contract that loops until its gas is used up. */
const BURNER = "0x00000000000000000000000000000000c0de0004";

const started = registryService([10]);
const sign = (user: number, tx: TransactionLike) => account(user).signTransaction(tx);
const callOf = (to: string, overrides: TransactionLike = {}) =>
  transferOf(RECIPIENT, 1n, 0, { to, ...overrides });

beforeAll(async () => {
  const service = started();
  for (const [address, data] of Object.entries(REVERTS)) {
    const length = toBeHex((data.length - 2) / 2, 1);
    // The code copies the data behind it to memory, and reverts with it.
    const code = concat(["0x60", length, "0x600a5f3960", length, "0x5ffd", data]);
    await service.rpc("anvil_setCode", address, code);
  }
  await service.rpc("anvil_setCode", BURNER, "0x5b5f56");
  await service.update(WAIVER, [{ address: "*" }]);
  await service.until(({ allowedTargets }) => allowedTargets[0]?.address === "*");
});

describe("a simulated check", () => {
  it("says of each call whether it reverts, and why", async () => {
    const { client } = started();
    const transactions = await Promise.all([
      sign(0, callOf(TOKEN)),
      sign(1, callOf(TEXT)),
      sign(2, callOf(PANIC)),
      sign(3, callOf(EMPTY)),
      sign(4, callOf(TOKEN, { data: transferData(RECIPIENT, 10n ** 30n) })),
      sign(5, callOf(BURNER)),
      // A call of an address without code succeeds.
      sign(6, callOf(RECIPIENT, { type: 1, accessList: [{ address: ZeroAddress, storageKeys: [] }] })),
    ]);
    const lines = await client.check(transactions, { simulate: true });
    expect(lines.every(({ success }) => success)).toBe(true);
    const token = selectorOf("InsufficientBalance(address,uint256,uint256)");
    expect(lines.map((line) => line.success && line.simulation)).toEqual([
      { success: true },
      { success: false, kind: "error", message: "not on a Sunday", data: Object.values(REVERTS)[0] },
      { success: false, kind: "panic", message: "panic 0x12: a division by zero", data: expect.any(String) },
      { success: false, kind: "empty", message: "without a reason" },
      {
        success: false,
        kind: "custom",
        message: `with the contract's own error ${token}`,
        data: expect.stringMatching(new RegExp(`^${token}[0-9a-f]{192}$`)),
      },
      { success: false, kind: "halted", message: expect.stringContaining("out of gas") },
      { success: true },
    ]);
  });

  it("simulates with the transaction's own gas limit, and reports too little gas as the execution does", async () => {
    const { client } = started();
    const [enough, less] = [60_000, 30_000].map((gasLimit) => sign(0, callOf(TOKEN, { gasLimit })));
    for (const [signed, simulation] of [
      [await enough, { success: true }],
      [await less, { success: false, kind: "halted", message: expect.stringContaining("out of gas") }],
    ] as const) {
      expect(await client.check([signed ?? ""], { simulate: true })).toMatchObject([
        { success: true, simulation },
      ]);
    }
    const lines: { success: boolean }[] = [];
    for await (const line of client.submit([(await less) ?? ""], { wait: "included" })) lines.push(line);
    expect(lines).toMatchObject([{ success: false, error: { reason: "REVERTED" } }]);
  });

  it("simulates no transaction that it refuses, and none unless the request asks for it", async () => {
    const { client } = started();
    const poor = await sign(7, callOf(TEXT, { value: 10n ** 40n }));
    const good = await sign(8, callOf(TEXT));
    const [first] = await client.check([poor], { simulate: true });
    expect(first).toMatchObject({ success: false, error: { reason: "INSUFFICIENT_BALANCE" } });
    expect(first).not.toHaveProperty("simulation");
    const [second] = await client.check([good]);
    expect(second).toEqual({ index: 0, success: true, txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) });
  });

  it("removes control characters from a contract's error text", async () => {
    const service = started();
    const data = concat([selectorOf("Error(string)"), coder.encode(["string"], ["a\u001b[2J\nb"])]);
    const length = toBeHex((data.length - 2) / 2, 1);
    await service.rpc(
      "anvil_setCode",
      TEXT,
      concat(["0x60", length, "0x600a5f3960", length, "0x5ffd", data]),
    );
    const [line] = await service.client.check([await sign(8, callOf(TEXT))], { simulate: true });
    expect(line).toMatchObject({ simulation: { kind: "error", message: "a [2J b" } });
    expect(toUtf8Bytes(JSON.stringify(line)).some((byte) => byte < 0x20)).toBe(false);
  });
});
