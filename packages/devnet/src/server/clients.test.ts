import { bytesToHex, intrinsicGas, MARKER_ADDRESS } from "@gas-waiver/protocol";
import { Contract, HDNodeWallet, JsonRpcProvider } from "ethers";
import { createPublicClient, createWalletClient, defineChain, http, parseAbi } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, it } from "vitest";
import { addressOf, hashOf, signInner, wrap } from "../../test/support/testNode.js";
import { useListeningDevnet } from "../../test/support/useTestNode.js";
import { createDevnet } from "../createDevnet.js";
import { DEVNET_MNEMONIC, devnetAccount } from "../presets/accounts.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";

const ERC20 = [
  "function balanceOf(address) view returns (uint256)",
  "function transfer(address to, uint256 amount) returns (bool)",
  "event Transfer(address indexed from, address indexed to, uint256 value)",
] as const;

describe("over HTTP", () => {
  const node = useListeningDevnet();

  it("ethers 6 sends, waits, reads logs and broadcasts a wrapper", async () => {
    const provider = new JsonRpcProvider(node.url, undefined, { polling: true, pollingInterval: 10 });
    try {
      expect((await provider.getNetwork()).chainId).toBe(2201n);
      const wallet = HDNodeWallet.fromPhrase(DEVNET_MNEMONIC, undefined, "m/44'/60'/0'/0/13").connect(
        provider,
      );
      const sent = await wallet.sendTransaction({ to: addressOf(0), value: 7n });
      const receipt = await sent.wait();
      expect(receipt).toMatchObject({ status: 1, gasPrice: 1_000_000_000n });
      expect(await provider.getBalance(addressOf(0))).toBe(7n);

      const inner = signInner(0);
      const wrapper = await provider.broadcastTransaction(wrap(inner));
      expect((await wrapper.wait())?.status).toBe(1);
      const innerReceipt = await provider.getTransactionReceipt(hashOf(bytesToHex(inner.raw)));
      expect(innerReceipt?.gasPrice).toBe(0n);
      const token = new Contract(TEST_TOKEN_ADDRESS, ERC20, provider);
      expect(await token.queryFilter("Transfer")).toHaveLength(1);
      const whole = await provider.getBlock("latest", true);
      expect(whole?.prefetchedTransactions.map((tx) => tx.hash)).toEqual(whole?.transactions);
    } finally {
      provider.destroy();
    }
  });

  it("ethers sends a wrapper without a gas limit, because the estimate counts everything (D7)", async () => {
    const provider = new JsonRpcProvider(node.url, undefined, { polling: true, pollingInterval: 10 });
    try {
      const waiver = HDNodeWallet.fromPhrase(DEVNET_MNEMONIC, undefined, "m/44'/60'/0'/0/10").connect(
        provider,
      );
      const nonce = BigInt(await provider.getTransactionCount(addressOf(3)));
      const inner = signInner(3, { nonce });
      const data = bytesToHex(inner.raw);
      const sent = await waiver.sendTransaction({ to: bytesToHex(MARKER_ADDRESS), data, gasPrice: 0 });
      expect((await sent.wait())?.status).toBe(1);
      expect((await provider.getTransactionReceipt(hashOf(data)))?.from.toLowerCase()).toBe(addressOf(3));
      const least = inner.gasLimit + intrinsicGas({ ...inner, data: inner.raw }) + 10_000n;
      expect(sent.gasLimit).toBe(least);
    } finally {
      provider.destroy();
    }
  });

  it("viem sends, waits, estimates and reads", async () => {
    const chain = defineChain({
      id: 2201,
      name: "devnet",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [node.url] } },
    });
    const transport = http(node.url, { batch: true });
    const client = createPublicClient({ chain, transport, pollingInterval: 10 });
    const account = privateKeyToAccount(devnetAccount(13).privateKey);
    const hash = await createWalletClient({ account, chain, transport }).sendTransaction({
      to: devnetAccount(0).address,
      value: 3n,
    });
    const receipt = await client.waitForTransactionReceipt({ hash });
    expect(receipt).toMatchObject({ status: "success", effectiveGasPrice: 1_000_000_000n, type: "eip1559" });

    const abi = parseAbi(ERC20);
    const user = devnetAccount(0).address;
    const gas = await client.estimateContractGas({
      address: TEST_TOKEN_ADDRESS,
      abi,
      functionName: "transfer",
      args: [devnetAccount(9).address, 10n ** 18n],
      account: user,
      gasPrice: 0n,
    });
    const inner = signInner(0, { gasLimit: gas });
    await client.sendRawTransaction({ serializedTransaction: wrap(inner) });
    const innerHash = hashOf(bytesToHex(inner.raw));
    expect(await client.getTransactionReceipt({ hash: innerHash })).toMatchObject({
      status: "success",
      from: addressOf(0),
      effectiveGasPrice: 0n,
    });
    const [tx, logs, history] = await Promise.all([
      client.getTransaction({ hash: innerHash }),
      client.getContractEvents({
        address: TEST_TOKEN_ADDRESS,
        abi,
        eventName: "Transfer",
        args: { from: user },
      }),
      client.getFeeHistory({ blockCount: 2, rewardPercentiles: [10, 50] }),
    ]);
    expect(tx).toMatchObject({ from: addressOf(0), gasPrice: 0n });
    expect(logs.map((log) => log.transactionHash)).toEqual([innerHash]);
    expect(history.reward).toEqual([
      [10n ** 9n, 10n ** 9n],
      [10n ** 9n, 10n ** 9n],
    ]);
  });

  it("a refusal has code -32000 and a stable reason", async () => {
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "eth_sendRawTransaction",
      params: [wrap(signInner(0), { waiver: 12 })],
    };
    const response = await fetch(node.url, { method: "POST", body: JSON.stringify(body) });
    expect(await response.json()).toMatchObject({
      jsonrpc: "2.0",
      id: 1,
      error: {
        code: -32000,
        message: `waiver registered: ${addressOf(12)} is not a registered waiver`,
        data: { reason: "WAIVER_NOT_REGISTERED", waiver: addressOf(12) },
      },
    });
  });

  it("pages of any origin may send requests", async () => {
    const preflight = await fetch(node.url, { method: "OPTIONS", headers: { origin: "http://app.test" } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-headers")).toBe("*");
  });

  it("listen fails if the port is in use", async () => {
    const second = await createDevnet({ blockTimeMs: 0 });
    const { port } = new URL(node.url);
    await expect(second.listen({ port: Number(port) })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await second.close();
  });
});
