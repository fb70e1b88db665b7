// Unmodified clients on the gateway, by its URL alone, with accounts that have no native balance.
import {
  Contract,
  type JsonRpcApiProviderOptions,
  JsonRpcProvider,
  NonceManager,
  Wallet,
  WebSocketProvider,
} from "ethers";
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  encodeFunctionData,
  type Hex,
  http,
  parseAbi,
  parseEventLogs,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, it } from "vitest";
import { CHAIN_PROFILE } from "../packages/server/test/support/chainProfile.js";
import { registryService } from "./support/registryService.js";
import { account, CHAIN_ID, TOKEN } from "./support/user.js";

const ABI = [
  "function transfer(address to, uint256 amount) returns (bool)",
  "function balanceOf(address owner) view returns (uint256)",
  "event Transfer(address indexed from, address indexed to, uint256 amount)",
] as const;
const RECIPIENT = account(9).address as Hex;

const KEY = "gwp_test_pages";
const started = registryService([10], { publicApiKeys: [KEY] });
let url: string;
beforeAll(() => {
  url = `${started().url}/rpc/${KEY}`;
});

/** The users of a plain chain have tokens and no native coins. On the public chain both are one balance, of which a transfer moves a part. */
const nativeOf = (tokens: bigint) => (CHAIN_PROFILE === "stable" ? tokens * 10n ** 12n : 0n);
const nativeBalance = async (i: number) =>
  BigInt(await started().rpc<string>("eth_getBalance", account(i).address, "latest"));

describe("ethers", () => {
  const providerOf = (options?: JsonRpcApiProviderOptions) => {
    const provider = new JsonRpcProvider(url, undefined, options);
    provider.pollingInterval = 50;
    return provider;
  };

  it("sends ten contract calls in a row without a word about gas, each with the next nonce", async () => {
    // By default, ethers asks no provider for the same nonce twice within 250 ms.
    const provider = providerOf({ cacheTimeout: -1 });
    const wallet = new Wallet(account(0).privateKey, provider);
    const token = new Contract(TOKEN, ABI, wallet);
    const native = await nativeBalance(0);
    expect(native).toBe(nativeOf((await token.balanceOf?.(wallet.address)) as bigint));
    const before = (await token.balanceOf?.(RECIPIENT)) as bigint;
    const sent = [];
    for (let i = 0; i < 10; i++) sent.push(await token.transfer?.(RECIPIENT, 1n));
    expect(sent.map(({ nonce, type, gasPrice }) => [nonce, type, gasPrice])).toEqual(
      Array.from({ length: 10 }, (_, nonce) => [nonce, 0, 0n]),
    );
    const receipts = await Promise.all(sent.map((transaction) => transaction.wait()));
    for (const { status, gasPrice, logs } of receipts) {
      expect([status, gasPrice]).toEqual([1, 0n]);
      expect(token.interface.parseLog(logs[0])?.args.amount).toBe(1n);
    }
    expect(await token.balanceOf?.(RECIPIENT)).toBe(before + 10n);
    expect(await nativeBalance(0)).toBe(native - nativeOf(10n));
    provider.destroy();
  });

  it("sends ten at the same time by its nonce manager", async () => {
    const provider = providerOf();
    const signer = new NonceManager(new Wallet(account(1).privateKey, provider));
    const token = new Contract(TOKEN, ABI, signer);
    const sent = await Promise.all(Array.from({ length: 10 }, () => token.transfer?.(RECIPIENT, 1n)));
    const receipts = await Promise.all(sent.map((transaction) => transaction.wait()));
    expect(receipts.map(({ status }) => status)).toEqual(Array(10).fill(1));
    provider.destroy();
  });

  it("knows the errors of the service by the words of a node", async () => {
    const provider = providerOf();
    const wallet = new Wallet(account(2).privateKey, provider);
    const used = {
      to: TOKEN,
      nonce: 0,
      gasLimit: 100_000,
      data: new Contract(TOKEN, ABI).interface.encodeFunctionData("transfer", [RECIPIENT, 1n]),
    };
    await (await wallet.sendTransaction(used)).wait();
    await expect(wallet.sendTransaction({ ...used, gasLimit: 100_001 })).rejects.toMatchObject({
      code: "NONCE_EXPIRED",
    });
    await expect(wallet.sendTransaction({ ...used, nonce: 1, value: 10n ** 40n })).rejects.toMatchObject({
      code: "INSUFFICIENT_FUNDS",
    });
    await expect(wallet.sendTransaction({ to: RECIPIENT, gasLimit: 50_000 })).rejects.toMatchObject({
      error: { code: -32_003, data: { reason: "TARGET_NOT_ALLOWED" } },
    });
    provider.destroy();
  });
});

describe("ethers over a WebSocket", () => {
  it("sends, and hears of the event", async () => {
    const provider = new WebSocketProvider(url.replace("http", "ws"));
    const token = new Contract(TOKEN, ABI, new Wallet(account(4).privateKey, provider));
    const heard = new Promise((resolve) => {
      void token.once("Transfer", (_from, _to, amount) => resolve(amount));
    });
    await expect.poll(() => token.listenerCount(), { timeout: 200_000 }).toBe(1);
    const sent = await token.transfer?.(RECIPIENT, 5n);
    expect(await heard).toBe(5n);
    expect(await sent.wait()).toMatchObject({ status: 1 });
    await provider.destroy();
  });
});

describe("viem", () => {
  const abi = parseAbi(ABI);

  function clientsOf(index: number) {
    const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
    const rpcUrls = { default: { http: [url] } };
    const chain = defineChain({ id: CHAIN_ID, name: "gasless", nativeCurrency, rpcUrls });
    const transport = http(url);
    const user = privateKeyToAccount(account(index).privateKey as Hex);
    return {
      wallet: createWalletClient({ account: user, chain, transport }),
      reader: createPublicClient({ chain, transport, pollingInterval: 50 }),
    };
  }

  it("has the receipt as the answer to what it sends (EIP-7966), also of a call that reverts", async () => {
    const { wallet } = clientsOf(5);
    const sign = async (amount: bigint) => {
      const data = encodeFunctionData({ abi, functionName: "transfer", args: [RECIPIENT, amount] });
      const call = { to: TOKEN as Hex, data, gas: 100_000n };
      return await wallet.signTransaction(await wallet.prepareTransactionRequest(call));
    };
    const serializedTransaction = await sign(1n);
    const receipt = await wallet.sendRawTransactionSync({ serializedTransaction, timeout: 20_000 });
    expect(receipt).toMatchObject({ status: "success", effectiveGasPrice: 0n });
    expect(parseEventLogs({ abi, logs: receipt.logs })).toMatchObject([{ args: { amount: 1n } }]);
    await expect(wallet.sendRawTransactionSync({ serializedTransaction })).rejects.toThrow("already known");
    const reverting = await wallet.sendRawTransactionSync({ serializedTransaction: await sign(10n ** 30n) });
    expect(reverting).toMatchObject({ status: "reverted", logs: [] });
  });

  it("writes to a contract, waits for the receipt, and reads its events", async () => {
    const { wallet, reader } = clientsOf(3);
    const call = { address: TOKEN as Hex, abi, functionName: "transfer", args: [RECIPIENT, 1n] } as const;
    const native = await nativeBalance(3);
    const hashes: Hex[] = [];
    for (let i = 0; i < 3; i++) hashes.push(await wallet.writeContract(call));
    for (const hash of hashes) {
      const receipt = await reader.waitForTransactionReceipt({ hash });
      expect(receipt).toMatchObject({ status: "success", effectiveGasPrice: 0n, type: "legacy" });
      expect(parseEventLogs({ abi, logs: receipt.logs })).toMatchObject([{ args: { amount: 1n } }]);
    }
    expect(await nativeBalance(3)).toBe(native - nativeOf(3n));
    await expect(wallet.writeContract({ ...call, nonce: 0, gas: 99_999n })).rejects.toThrow(
      /nonce provided .* is lower|Nonce provided/i,
    );
  });
});
