// The profile `stable`: what the public documents say of the chain (protocol's chains/stable.ts), as clients meet it.
import { bytesToHex, type Hex, hexToBytes, STABLE } from "@gas-waiver/protocol";
import {
  createPublicClient,
  createWalletClient,
  custom,
  type EIP1193RequestFn,
  encodeFunctionData,
  getContractAddress,
  keccak256,
  parseSignature,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { stable, stableTestnet } from "viem/chains";
import { describe, expect, it } from "vitest";
import { signDelegation } from "../../test/support/delegation.js";
import { addressOf, hashOf, signInner, signOrdinary, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { NativeToken } from "../contracts/artifacts.js";
import { Create2Deployer, Permit2 } from "../contracts/predeployed.js";
import { resolveOptions } from "../options.js";
import { devnetAccount } from "./accounts.js";
import { TEST_TOKEN_ADDRESS } from "./constants.js";

const GWEI = 10n ** 9n;
const UNIT = 10n ** 12n;
const FUNDED = 13;
const node = useTestNode(() => ({ profile: "stable" }));
const rpc = <T = Hex>(method: string, ...params: unknown[]) => node.rpc<T>(method, ...params);
const account = (index: number) => privateKeyToAccount(devnetAccount(index).privateKey);

const request: EIP1193RequestFn = async ({ method, params }) =>
  (await node.devnet.request({ method, params })) as never;
const client = createPublicClient({ chain: stableTestnet, transport: custom({ request }) });
const token = { address: TEST_TOKEN_ADDRESS, abi: NativeToken.abi } as const;
const tokensOf = (index: number) =>
  client.readContract({ ...token, functionName: "balanceOf", args: [addressOf(index)] });

/** Calls the token as the funded account, and returns the status of the receipt. */
async function send(data: Hex, to: Hex = TEST_TOKEN_ADDRESS, value = 0n): Promise<Hex> {
  const nonce = await node.nonce(FUNDED);
  const raw = signOrdinary(FUNDED, {
    ...{ nonce, to: hexToBytes(to), data: hexToBytes(data), value, gasLimit: 3_000_000n },
  });
  await node.sendAndMine(raw);
  return (await node.receipt(hashOf(raw))).status;
}

describe("fees", () => {
  it("are the base fee of 1 gwei, and nobody pays a tip: the published recipe runs", async () => {
    expect(await rpc("eth_maxPriorityFeePerGas")).toBe("0x0");
    expect(BigInt(await rpc("eth_gasPrice"))).toBe(STABLE.baseFee);
    const { baseFeePerGas } = await client.getBlock();
    expect(baseFeePerGas).toBe(GWEI);
    const before = await node.balance(FUNDED);
    const raw = await account(FUNDED).signTransaction({
      ...{ type: "eip1559", chainId: 2201, nonce: 0, gas: 21_000n, to: addressOf(0), value: 5n },
      ...{ maxFeePerGas: GWEI * 2n, maxPriorityFeePerGas: 0n },
    });
    await node.sendAndMine(raw);
    expect(BigInt((await node.receipt(hashOf(raw))).effectiveGasPrice)).toBe(GWEI);
    expect(before - (await node.balance(FUNDED))).toBe(21_000n * GWEI + 5n);
  });

  it.each([
    ["a tip of 3 gwei", { type: "eip1559", maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: 3n * GWEI }],
    ["a gas price of 7 gwei", { type: "legacy", gasPrice: 7n * GWEI }],
  ] as const)("are the base fee for %s as well", async (_, fees) => {
    const call = { chainId: 2201, nonce: 0, gas: 21_000n, to: addressOf(0) };
    const raw = await account(FUNDED).signTransaction({ ...call, ...fees } as never);
    const before = await node.balance(FUNDED);
    await node.sendAndMine(raw);
    expect(BigInt((await node.receipt(hashOf(raw))).effectiveGasPrice)).toBe(GWEI);
    expect(before - (await node.balance(FUNDED))).toBe(21_000n * GWEI);
    const { reward, baseFeePerGas } = await client.getFeeHistory({ blockCount: 1, rewardPercentiles: [50] });
    expect([reward, baseFeePerGas]).toEqual([[[0n]], [GWEI, GWEI]]);
  });

  it("below the base fee are refused, and a waived transaction pays nothing", async () => {
    await expect(node.send(signOrdinary(FUNDED, { gasPrice: GWEI - 1n }))).rejects.toThrow(
      /max fee per gas less than block base fee: maxFeePerGas: 999999999, baseFee: 1000000000/,
    );
    await expect(node.send(signOrdinary(0, { gasPrice: 0n }))).rejects.toMatchObject({
      reason: "GAS_PRICE_BELOW_MINIMUM",
    });
    const inner = signInner(0);
    const before = await node.balance(0);
    await node.sendAndMine(wrap(inner));
    const receipt = await node.receipt(hashOf(bytesToHex(inner.raw)));
    expect([receipt.status, receipt.effectiveGasPrice]).toEqual(["0x1", "0x0"]);
    expect(before - (await node.balance(0))).toBe(10n ** 18n * UNIT);
  });
});

describe("the gas token", () => {
  it("has one balance: 18 decimals native, 6 as ERC-20, and fractions only as native", async () => {
    expect(await client.readContract({ ...token, functionName: "decimals" })).toBe(6);
    const [native, units] = [await node.balance(1), await tokensOf(1)];
    expect(native).toBe(units * UNIT);
    await send("0x", addressOf(1), UNIT + UNIT / 2n);
    expect([await node.balance(1), await tokensOf(1)]).toEqual([native + UNIT + UNIT / 2n, units + 1n]);
    const data = encodeFunctionData({ ...token, functionName: "transfer", args: [addressOf(1), 7n] });
    expect(await send(data)).toBe("0x1");
    expect([await node.balance(1), await tokensOf(1)]).toEqual([native + 8n * UNIT + UNIT / 2n, units + 8n]);
  });

  it("goes to nobody at the zero address, as a token, as value or from a contract", async () => {
    const zero: Hex = `0x${"00".repeat(20)}`;
    const data = encodeFunctionData({ ...token, functionName: "transfer", args: [zero, 1n] });
    expect(await send(data)).toBe("0x0");
    expect(await send("0x", zero, 1n)).toBe("0x0");
    // CALL with all of the value to address 0, and STOP, or INVALID if the call failed.
    await rpc("anvil_setCode", addressOf(5), "0x5f5f5f5f345f5af1600b57fe5b00");
    expect(await send("0x", addressOf(5), 1n)).toBe("0x0");
    expect(await rpc("eth_getBalance", zero, "latest")).toBe("0x0");
  });

  it("reverts a transfer of more than there is, and leaves both balances", async () => {
    const [before, native] = [await tokensOf(FUNDED), await node.balance(1)];
    const data = encodeFunctionData({
      ...token,
      functionName: "transfer",
      args: [addressOf(1), before + 1n],
    });
    expect(await send(data)).toBe("0x0");
    expect(await node.balance(1)).toBe(native);
  });

  const domain = {
    name: "USDT0",
    version: "1",
    chainId: 2201,
    verifyingContract: TEST_TOKEN_ADDRESS,
  } as const;

  it("takes a permit (EIP-2612)", async () => {
    const message = {
      owner: addressOf(1),
      spender: addressOf(FUNDED),
      value: 5n,
      nonce: 0n,
      deadline: 2n ** 40n,
    };
    const fields = Object.entries(message).map(([name, value]) => ({
      name,
      type: typeof value === "bigint" ? "uint256" : "address",
    }));
    const signature = await account(1).signTypedData({
      ...{ domain, types: { Permit: fields }, primaryType: "Permit", message },
    });
    const { r, s, v = 0n } = parseSignature(signature);
    const { owner, spender, value, deadline } = message;
    const args = [owner, spender, value, deadline, Number(v), r, s] as const;
    expect(await send(encodeFunctionData({ ...token, functionName: "permit", args }))).toBe("0x1");
    expect(await client.readContract({ ...token, functionName: "allowance", args: [owner, spender] })).toBe(
      5n,
    );
  });

  it("takes an authorization once, within its time, and not after it was cancelled (ERC-3009)", async () => {
    const message = {
      from: addressOf(1),
      to: addressOf(2),
      value: 5n,
      validAfter: 0n,
      validBefore: 2n ** 40n,
      nonce: keccak256("0x01"),
    };
    const types = {
      TransferWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
      CancelAuthorization: [
        { name: "authorizer", type: "address" },
        { name: "nonce", type: "bytes32" },
      ],
    };
    const pay = async (changes: Partial<typeof message>) => {
      const signed = { ...message, ...changes };
      const signature = await account(1).signTypedData({
        ...{ domain, types, primaryType: "TransferWithAuthorization", message: signed },
      });
      const { r, s, v = 0n } = parseSignature(signature);
      const { from, to, value, validAfter, validBefore, nonce } = signed;
      const args = [from, to, value, validAfter, validBefore, nonce, Number(v), r, s] as const;
      return send(encodeFunctionData({ ...token, functionName: "transferWithAuthorization", args }));
    };
    const before = await tokensOf(2);
    expect(await pay({})).toBe("0x1");
    expect(await pay({})).toBe("0x0");
    expect(await pay({ nonce: keccak256("0x02"), validBefore: 1n })).toBe("0x0");
    const cancelled = keccak256("0x03");
    const signature = await account(1).signTypedData({
      ...{ domain, types, primaryType: "CancelAuthorization" },
      message: { authorizer: addressOf(1), nonce: cancelled },
    });
    const { r, s, v = 0n } = parseSignature(signature);
    const args = [addressOf(1), cancelled, Number(v), r, s] as const;
    expect(await send(encodeFunctionData({ ...token, functionName: "cancelAuthorization", args }))).toBe(
      "0x1",
    );
    expect(await pay({ nonce: cancelled })).toBe("0x0");
    expect((await tokensOf(2)) - before).toBe(5n);
  });
});

describe("the node", () => {
  it("has the published methods, its own controls, and no others", async () => {
    const missing = ["eth_simulateV1", "eth_getBlockReceipts", "eth_createAccessList", "debug_traceCall"];
    const others = ["eth_getRawTransactionByHash", "eth_blobBaseFee", "txpool_status", "rpc_modules"];
    for (const method of [...missing, ...others, "eth_getUncleCountByBlockNumber", "eth_fillTransaction"]) {
      await expect(rpc(method), method).rejects.toMatchObject({ code: -32_601 });
    }
    const absent: string[] = [];
    for (const method of STABLE.methods) {
      await rpc(method).catch(({ code }) => code === -32_601 && absent.push(method));
    }
    // Rare ones that the devnet does not have, and subscriptions, which need a connection.
    expect(absent).toEqual([
      ...["eth_sign", "eth_pendingTransactions", "eth_resend", "eth_subscribe", "eth_unsubscribe"],
      ...["eth_getTransactionLogs", "eth_signTypedData", "debug_intermediateRoots", "debug_printBlock"],
    ]);
  });

  it("makes blocks each 700 ms", () => {
    expect(resolveOptions({ profile: "stable" }).blockTimeMs).toBe(700);
    expect(resolveOptions({ profile: "stable", blockTimeMs: 0 }).blockTimeMs).toBe(0);
  });

  it("has Multicall3 where viem's chains expect it", async () => {
    const call = { ...token, functionName: "balanceOf" } as const;
    const results = await client.multicall({
      contracts: [0, 1].map((i) => ({ ...call, args: [addressOf(i)] as const })),
      allowFailure: false,
    });
    expect(results).toEqual([await tokensOf(0), await tokensOf(1)]);
    expect(stable.contracts.multicall3.address).toBe(stableTestnet.contracts.multicall3.address);
  });

  it("has the CREATE2 deployer", async () => {
    const code: Hex = "0x600080600080";
    const bytecode: Hex = `0x65${code.slice(2)}5f52600660 1af3`.replace(" ", "") as Hex;
    const salt: Hex = `0x${"07".repeat(32)}`;
    expect(await send(`${salt}${bytecode.slice(2)}`, Create2Deployer.address)).toBe("0x1");
    const created = getContractAddress({ from: Create2Deployer.address, salt, bytecode, opcode: "CREATE2" });
    expect(await rpc("eth_getCode", created, "latest")).toBe(code);
  });

  it("has Permit2 with the domain of this chain", async () => {
    const name = keccak256(new TextEncoder().encode("Permit2"));
    const type = "EIP712Domain(string name,uint256 chainId,address verifyingContract)";
    const words = [
      keccak256(new TextEncoder().encode(type)),
      name,
      `0x${(2201).toString(16)}`,
      Permit2.address,
    ];
    const packed: Hex = `0x${words.map((word) => word.slice(2).toLowerCase().padStart(64, "0")).join("")}`;
    expect(await rpc("eth_call", { to: Permit2.address, data: "0x3644e515" }, "latest")).toBe(
      keccak256(packed),
    );
  });

  it("runs a delegation (EIP-7702)", async () => {
    await node.sendAndMine(await signDelegation({ authority: 1, contract: TEST_TOKEN_ADDRESS, to: 1 }));
    const code = await rpc("eth_getCode", addressOf(1), "latest");
    expect(code).toBe(`0xef0100${TEST_TOKEN_ADDRESS.slice(2).toLowerCase()}`);
  });
});

describe("with the mainnet's chain id", () => {
  const mainnet = useTestNode(() => ({ profile: "stable", chainId: 988n }));

  it("takes transactions and wrappers for 988, of all types, and no others", async () => {
    expect(await mainnet.rpc("eth_chainId")).toBe("0x3dc");
    const inner = signInner(0, { chainId: 988n });
    await mainnet.sendAndMine(wrap(inner, { chainId: 988n }));
    expect((await mainnet.receipt(hashOf(bytesToHex(inner.raw)))).status).toBe("0x1");
    const wallet = createWalletClient({
      ...{ account: account(FUNDED), chain: stable },
      transport: custom({ request: (args: never) => mainnet.devnet.request(args) }),
    });
    const hash = await wallet.sendTransaction({ to: addressOf(1), value: 1n });
    await mainnet.devnet.mine();
    expect((await mainnet.receipt(hash)).status).toBe("0x1");
    expect(await mainnet.rpc("eth_getTransactionByHash", hash)).toMatchObject({ chainId: "0x3dc" });
    await expect(mainnet.send(signOrdinary(FUNDED, { nonce: 1n }))).rejects.toMatchObject({
      reason: "WRONG_CHAIN_ID",
    });
    await expect(mainnet.send(wrap(signInner(1)))).rejects.toMatchObject({
      reason: "WRAPPER_WRONG_CHAIN_ID",
    });
  });
});
