import { type IncomingMessage, request } from "node:http";
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

const JSON_TYPE = { "content-type": "application/json" };

/** Sends a request with any header fields, which `fetch` would not let through. */
function send(url: string, headers: Readonly<Record<string, string>>, method = "POST") {
  return new Promise<{ readonly status: number; readonly origin: string | undefined }>((resolve, reject) => {
    const resolveWith = (response: IncomingMessage) => {
      response.destroy();
      resolve({
        status: response.statusCode ?? 0,
        origin: response.headers["access-control-allow-origin"],
      });
    };
    const sent = request(url, { method, headers, agent: false }, resolveWith);
    sent.on("upgrade", resolveWith).on("error", reject);
    sent.end(method === "POST" ? '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}' : undefined);
  });
}

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
      const expectedGasLimit = inner.gasLimit + intrinsicGas({ ...inner, data: inner.raw }) + 10_000n;
      expect(sent.gasLimit).toBe(expectedGasLimit);
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
    const response = await fetch(node.url, {
      method: "POST",
      headers: JSON_TYPE,
      body: JSON.stringify(body),
    });
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

  it.each([
    ["a page of this machine", { origin: "http://localhost:5173" }, 200],
    ["a page of another machine", { origin: "https://evil.example" }, 403],
    ["a page without an origin of its own", { origin: "null" }, 403],
    ["a page whose name begins like this machine's", { origin: "http://localhost.evil.example" }, 403],
    ["text that is not JSON", { "content-type": "text/plain" }, 415],
    ["no content type", { "content-type": "" }, 415],
    ["JSON with a character set", { "content-type": "application/json; charset=utf-8" }, 200],
  ])("%s %j gets %i", async (_, headers, status) => {
    const sent = await send(node.url, { ...JSON_TYPE, ...headers });
    expect(sent.status).toBe(status);
    const preflight = await send(node.url, headers, "OPTIONS");
    if (status !== 415) expect(preflight.status).toBe(status === 200 ? 204 : status);
  });

  it.each([
    ["localhost:8545", 200],
    ["127.0.0.1", 200],
    ["[::1]:8545", 200],
    ["192.168.1.7:8545", 200],
    ["rebound.evil.example:8545", 403],
    ["127.0.0.1.evil.example", 403],
  ])("the host %j gets %i, over HTTP and WebSocket", async (host, status) => {
    expect((await send(node.url, { ...JSON_TYPE, host })).status).toBe(status);
    const handshake = {
      ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13", host },
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    expect((await send(node.url, handshake, "GET")).status).toBe(status === 200 ? 101 : 403);
  });

  it("hosts and origins of the options are allowed as well", async () => {
    const open = await createDevnet({ allowedHosts: ["devnet"], allowedOrigins: ["https://app.example"] });
    const { url } = await open.listen({ port: 0 });
    const sent = await send(url, { ...JSON_TYPE, host: "devnet:8545", origin: "https://app.example" });
    expect([sent.status, sent.origin]).toEqual([200, "https://app.example"]);
    expect((await send(url, { ...JSON_TYPE, origin: "https://other.example" })).status).toBe(403);
    await open.close();
  });

  it("listen fails if the port is in use", async () => {
    const second = await createDevnet({ blockTimeMs: 0 });
    const { port } = new URL(node.url);
    await expect(second.listen({ port: Number(port) })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await second.close();
  });
});
