// The adapters for viem and ethers against a real service, and the self-hosted library without a service.
import {
  createWaiverClient,
  gaslessProvider,
  InvalidArgumentError,
  SubmissionFailedError,
} from "@gas-waiver/client";
import { GasWaiverSigner } from "@gas-waiver/client/ethers";
import { broadcast, hashOf, wrap } from "@gas-waiver/client/self-hosted";
import { gasWaiverActions, gasWaiverTransport } from "@gas-waiver/client/viem";
import { BrowserProvider, Contract, JsonRpcProvider } from "ethers";
import {
  type Account,
  type Address,
  BaseError,
  createWalletClient,
  custom,
  defineChain,
  getContract,
  type Hex,
  http,
  parseAbi,
  publicActions,
  type Transport,
  type WalletClient,
} from "viem";
import { nonceManager, privateKeyToAccount } from "viem/accounts";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { useDevService } from "./support/devService.js";
import { account, CHAIN_ID, DEV_API_KEY, TOKEN, tokensOf, transferData, transferOf } from "./support/user.js";

const ABI = ["function transfer(address to, uint256 amount) returns (bool)"] as const;
const RECIPIENT = account(9).address as Hex;

const transferCall = (recipient: Hex) => ({ to: TOKEN, data: transferData(recipient, 1n) as Hex }) as const;

const started = useDevService();
let url: string;
let rpcUrl: string;
let chain: JsonRpcProvider;
beforeAll(() => {
  ({ url, rpcUrl, chain } = started());
  chain.pollingInterval = 50;
});

describe("viem", () => {
  const clientOf = (i: number) => {
    const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
    const rpcUrls = { default: { http: [rpcUrl] } };
    return createWalletClient({
      account: privateKeyToAccount(account(i).privateKey as Hex),
      chain: defineChain({ id: CHAIN_ID, name: "local", nativeCurrency, rpcUrls }),
      transport: http(),
      pollingInterval: 50,
    })
      .extend(publicActions)
      .extend(gasWaiverActions({ url, apiKey: DEV_API_KEY }));
  };
  const transfer = (amount: bigint) =>
    ({ address: TOKEN, abi: parseAbi(ABI), functionName: "transfer", args: [RECIPIENT, amount] }) as const;

  it("sends several contract calls at once with consecutive nonces, without gas", async () => {
    const client = clientOf(0);
    const before = await tokensOf(chain, RECIPIENT);
    const hashes = await Promise.all([1n, 2n, 3n].map((n) => client.writeGaslessContract(transfer(n))));
    const receipts = await Promise.all(hashes.map((hash) => client.waitForTransactionReceipt({ hash })));
    for (const receipt of receipts)
      expect(receipt).toMatchObject({ status: "success", effectiveGasPrice: 0n });
    const sent = await Promise.all(hashes.map((hash) => client.getTransaction({ hash })));
    expect(sent.map(({ nonce, type, chainId }) => [nonce, type, chainId])).toEqual(
      [0, 1, 2].map((nonce) => [nonce, "legacy", CHAIN_ID]),
    );
    expect(await tokensOf(chain, RECIPIENT)).toBe(before + 6n);
  });

  it("gives the nonce of a refused transaction to the next one", async () => {
    const client = clientOf(1);
    const elsewhere = client.sendGaslessTransaction({ to: account(20).address as Hex, gas: 50_000n });
    const refusal = { name: "SubmissionFailedError", reason: "TARGET_NOT_ALLOWED" };
    await expect(elsewhere).rejects.toMatchObject(refusal);
    const hash = await client.sendGaslessTransaction({ to: TOKEN, data: transferData(RECIPIENT, 1n) as Hex });
    await client.waitForTransactionReceipt({ hash });
    expect(await client.getTransaction({ hash })).toMatchObject({ nonce: 0 });
  });

  it("writes the request of `simulateContract` as it is", async () => {
    const client = clientOf(0);
    const { request } = await client.simulateContract(transfer(1n));
    const hash = await client.writeGaslessContract(request);
    expect(await client.waitForGaslessReceipt({ hash })).toMatchObject({ status: "success" });
  });

  it("throws viem's error for a call that would revert", async () => {
    const client = clientOf(2);
    const error = await client.writeGaslessContract(transfer(10n ** 60n)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "ContractFunctionExecutionError", functionName: "transfer" });
  });

  it("refuses an account that cannot sign a transaction without sending it, and a client without an account", async () => {
    const wallet: WalletClient = createWalletClient({ account: RECIPIENT, transport: http(rpcUrl) });
    const client = wallet.extend(gasWaiverActions({ url, apiKey: DEV_API_KEY }));
    const error = { name: "UnusableAccountError", message: expect.stringContaining("json-rpc") };
    await expect(client.sendGaslessTransaction({ to: TOKEN })).rejects.toMatchObject(error);
    const none = createWalletClient({ transport: http(rpcUrl) });
    const sending = none.extend(gasWaiverActions({ url })).sendGaslessTransaction({ to: TOKEN });
    await expect(sending).rejects.toThrow("no account");
  });
});

describe("viem's own actions over the gasless transport", () => {
  it("say that it may have been sent where every answer was lost", async () => {
    const cut: typeof fetch = async (...request) => {
      await fetch(...request);
      throw new TypeError("fetch failed");
    };
    const service = { url, apiKey: DEV_API_KEY, fetch: cut, timeoutMs: 50 };
    const client = clientOf(local(7), gasWaiverTransport(http(rpcUrl, { retryCount: 0 }), service));
    const sent = client.sendTransaction(transferCall(account(26).address as Hex));
    const error: unknown = await sent.catch((thrown) => thrown);
    expect(String(error)).toContain("may have sent");
    expect(String(error)).not.toContain("has not sent");
  });

  const local = (i: number) => privateKeyToAccount(account(i).privateKey as Hex, { nonceManager });
  const transfer = (amount: bigint) =>
    ({ address: TOKEN, abi: parseAbi(ABI), functionName: "transfer", args: [RECIPIENT, amount] }) as const;
  const clientOf = (
    sender: Account | Address,
    transport: Transport = gasWaiverTransport(http(rpcUrl), { url, apiKey: DEV_API_KEY }),
  ) => {
    const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
    const chain = defineChain({
      id: CHAIN_ID,
      name: "local",
      nativeCurrency,
      rpcUrls: { default: { http: [rpcUrl] } },
    });
    return createWalletClient({ account: sender, chain, transport, pollingInterval: 50 }).extend(
      publicActions,
    );
  };

  it("write contracts and send, several at once, although the node names prices", async () => {
    const node = http(rpcUrl)({ retryCount: 0 });
    // The devnet's base fee is 0; that of other chains is not.
    const request = async (call: { method: string; params?: unknown }): Promise<unknown> => {
      const result: unknown = await node.request(call as never);
      const isBlock = call.method === "eth_getBlockByNumber" && typeof result === "object";
      return isBlock ? { ...result, baseFeePerGas: "0x3b9aca00" } : result;
    };
    const client = clientOf(local(8), gasWaiverTransport(custom({ request }), { url, apiKey: DEV_API_KEY }));
    const before = await tokensOf(chain, RECIPIENT);
    const contract = getContract({ address: TOKEN, abi: parseAbi(ABI), client });
    const hashes = await Promise.all([
      client.writeContract(transfer(1n)),
      contract.write.transfer([RECIPIENT, 2n]),
      client.sendTransaction({ to: TOKEN, data: transferData(RECIPIENT, 3n) as Hex }),
    ]);
    for (const hash of hashes) {
      const receipt = await client.waitForTransactionReceipt({ hash });
      expect(receipt).toMatchObject({ status: "success", effectiveGasPrice: 0n });
    }
    expect(await tokensOf(chain, RECIPIENT)).toBe(before + 6n);
    expect(await chain.getBalance(account(8).address)).toBe(0n);
  });

  it("sign for accounts that the transport has, and never let the node or a wallet send for others", async () => {
    const accounts = [local(8)];
    const transport = gasWaiverTransport(http(rpcUrl), { url, apiKey: DEV_API_KEY, accounts });
    const client = clientOf(local(8).address, transport);
    expect(await client.getAddresses()).toEqual([local(8).address]);
    const hash = await client.writeContract(transfer(1n));
    expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ effectiveGasPrice: 0n });
    // Some providers sign for their accounts without sending.
    const node = http(rpcUrl)({ retryCount: 0 });
    const request = async (call: { method: string; params?: unknown }): Promise<unknown> => {
      if (call.method !== "eth_signTransaction") return await node.request(call as never);
      const [{ gas, from: _, ...fields }] = call.params as [Record<string, string>];
      const legacy = { ...fields, type: 0, gasLimit: gas ?? null, nonce: Number(fields.nonce) };
      return { raw: await account(8).signTransaction({ ...legacy, chainId: Number(fields.chainId) }) };
    };
    const behind = gasWaiverTransport(custom({ request }), { url, apiKey: DEV_API_KEY });
    expect(await clientOf(local(8).address, behind).writeContract(transfer(1n))).toMatch(/^0x/);
    const other = clientOf(local(2).address, transport).writeContract(transfer(1n));
    await expect(other).rejects.toThrow("cannot sign here");
    const creation = await client.sendTransaction({ data: "0x00", gas: 60_000n }).catch((thrown) => thrown);
    expect(creation.walk((one: unknown) => one instanceof InvalidArgumentError).message).toContain(
      "creation",
    );
  });

  it("throw viem's errors, with the one of the service inside", async () => {
    const client = clientOf(local(2));
    const error: unknown = await client
      .sendTransaction({ to: account(20).address as Hex, gas: 50_000n })
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof BaseError)) throw error;
    const inside = error.walk((one) => one instanceof SubmissionFailedError);
    expect(inside).toMatchObject({ reason: "TARGET_NOT_ALLOWED" });
    expect(error.message).toContain("is not permitted by the policy");
    await expect(client.writeContract(transfer(10n ** 60n))).rejects.toThrow("transfer");
  });
});

describe("everything but the sending", () => {
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };

  it("is prepared and signed by viem and by ethers, with consecutive nonces, for a wire of the application's own", async () => {
    const sender = account(9);
    const client = createWalletClient({
      account: privateKeyToAccount(sender.privateKey as Hex),
      chain: defineChain({
        id: CHAIN_ID,
        name: "local",
        nativeCurrency,
        rpcUrls: { default: { http: [rpcUrl] } },
      }),
      transport: http(),
    }).extend(gasWaiverActions({ url: "http://127.0.0.1:1" }));
    const call = { to: TOKEN, data: transferData(RECIPIENT, 1n) as Hex } as const;
    const prepared = await client.prepareGaslessTransaction(call);
    expect(prepared).toMatchObject({
      type: "legacy",
      gasPrice: 0n,
      chainId: CHAIN_ID,
      nonce: 0,
      value: 0n,
      ...call,
    });
    const contractCall = { address: TOKEN, abi: parseAbi(ABI), functionName: "transfer" } as const;
    const signed: string[] = [
      await client.signTransaction(prepared),
      ...(await Promise.all([
        client.signGaslessTransaction({ ...call, nonce: 1 }),
        client.signGaslessContract({ ...contractCall, args: [RECIPIENT, 2n], nonce: 2 }),
      ])),
    ];
    const signer = new GasWaiverSigner(sender.connect(chain), { url: "http://127.0.0.1:1" });
    expect(await signer.prepareGaslessTransaction({ ...call, nonce: 3 })).toMatchObject({
      nonce: 3,
      gasPrice: 0n,
      type: 0,
    });
    signed.push(await signer.signGaslessTransaction({ ...call, nonce: 3 }));
    const service = createWaiverClient({ url, apiKey: DEV_API_KEY });
    const lines: boolean[] = [];
    for await (const { success } of service.submit(signed)) lines.push(success);
    expect(lines).toEqual([true, true, true, true]);
    await vi.waitFor(async () => expect(await chain.getTransactionCount(sender.address)).toBe(4));
    // Without a nonce of the caller's, those that were signed count.
    const [first, second] = await Promise.all([
      client.signGaslessTransaction(call),
      client.signGaslessTransaction(call),
    ]);
    expect(first).not.toBe(second);
    expect(await client.prepareGaslessTransaction(call)).toMatchObject({ nonce: 6 });
  });
});

/**
 * A wallet of a browser: it signs with the given price or the price of its RPC URL, and sends to that URL itself.
 */
class PageWallet {
  #node: JsonRpcProvider;
  readonly #signer = account(7);

  constructor(rpcUrl: string) {
    this.#node = new JsonRpcProvider(rpcUrl, undefined, { cacheTimeout: -1 });
  }

  async request({ method, params = [] }: { method: string; params?: readonly unknown[] | object }) {
    const [first] = params as readonly Record<string, string>[];
    if (method === "wallet_addEthereumChain") {
      this.close();
      this.#node = new JsonRpcProvider(first?.rpcUrls?.[0], undefined, { cacheTimeout: -1 });
      return null;
    }
    if (method === "eth_requestAccounts" || method === "eth_accounts") return [this.#signer.address];
    if (method !== "eth_sendTransaction") return await this.#node.send(method, params as unknown[]);
    const { from: _, gas, ...call } = first ?? {};
    const filled = { ...call, type: 0, ...(gas && { gasLimit: gas }) };
    return (await this.#signer.connect(this.#node).sendTransaction(filled)).hash;
  }

  close(): void {
    this.#node.destroy();
  }
}

describe("a page with a wallet and a publishable key", () => {
  it("sends by the wallet itself, which joins the gateway, and reads the record by its hash", async () => {
    const wallet = new PageWallet(rpcUrl);
    const page = { url, apiKey: "gwp_dev_local" };
    const browser = new BrowserProvider(gaslessProvider(wallet, { ...page, chainId: CHAIN_ID }));
    const contract = new Contract(TOKEN, ABI, await browser.getSigner());
    const sent = await contract.getFunction("transfer").send(RECIPIENT, 5n);
    expect(await chain.waitForTransaction(sent.hash)).toMatchObject({ status: 1, gasPrice: 0n });
    expect(await createWaiverClient(page).wait(sent.hash)).toMatchObject({
      state: "included",
      reverted: false,
    });
    expect(await chain.getBalance(account(7).address)).toBe(0n);
    browser.destroy();
    wallet.close();
  });

  it("is refused in pages of other sites with the public key of `gas-waiver dev`", async () => {
    const headers = { authorization: "Bearer gwp_dev_local" };
    const statusFrom = async (origin: string) =>
      (await fetch(`${url}/v1/policy`, { headers: { ...headers, origin } })).status;
    expect([await statusFrom("http://localhost:5173"), await statusFrom("https://evil.example")]).toEqual([
      200, 403,
    ]);
  });
});

describe("ethers", () => {
  const signerOf = (i: number) =>
    new GasWaiverSigner(account(i), { url, apiKey: DEV_API_KEY }).connect(chain);
  const transfer = (contract: Contract, amount: bigint) =>
    contract.getFunction("transfer").send(RECIPIENT, amount);

  it("sends several contract calls at once, and waits for their receipts", async () => {
    const signer = signerOf(3);
    const contract = new Contract(TOKEN, ABI).connect(signer) as Contract;
    const before = await tokensOf(chain, RECIPIENT);
    const sent = await Promise.all([1n, 2n, 3n].map((n) => transfer(contract, n)));
    expect(sent.map(({ nonce, type, from }) => [nonce, type, from])).toEqual(
      [0, 1, 2].map((nonce) => [nonce, 0, account(3).address]),
    );
    for (const transaction of sent) {
      expect(await transaction.wait()).toMatchObject({ status: 1, gasPrice: 0n, hash: transaction.hash });
    }
    expect(await tokensOf(chain, RECIPIENT)).toBe(before + 6n);
  });

  it("pays once for an idempotency key, also when another program repeats the call", async () => {
    const recipient = account(25).address;
    const call = {
      ...{ to: TOKEN, data: transferData(recipient, 1n) },
      customData: { idempotencyKey: "order-17" },
    };
    const { hash } = await signerOf(2).sendTransaction(call);
    expect(await (await signerOf(2).sendTransaction(call)).wait()).toMatchObject({ hash, status: 1 });
    const client = createWalletClient({
      account: privateKeyToAccount(account(2).privateKey as Hex),
      transport: http(rpcUrl),
    }).extend(gasWaiverActions({ url, apiKey: DEV_API_KEY }));
    const again = { ...transferCall(recipient as Hex), idempotencyKey: "order-17" };
    expect(await client.sendGaslessTransaction(again)).toBe(hash);
    const refusal = { reason: "IDEMPOTENCY_KEY_REUSED", inDoubt: [], details: { txHash: hash } };
    const other = { ...again, data: transferData(recipient, 2n) as Hex };
    await expect(client.sendGaslessTransaction(other)).rejects.toMatchObject(refusal);
    await expect(signerOf(4).sendTransaction(call)).rejects.toMatchObject(refusal);
    expect(await tokensOf(chain, recipient)).toBe(1n);
  });

  it("keeps one sequence of nonces across `connect`", async () => {
    const signer = signerOf(4);
    const call = { to: TOKEN, data: transferData(RECIPIENT, 1n) };
    const [first, second] = await Promise.all([
      signer.sendTransaction(call),
      signer.connect(chain).sendTransaction(call),
    ]);
    expect([first.nonce, second.nonce].sort()).toEqual([0, 1]);
    await Promise.all([first.wait(), second.wait()]);
  });

  it("populates a transaction as legacy, at gas price 0, with a gas limit and the next nonce", async () => {
    const filled = await signerOf(5).populateTransaction({ to: TOKEN, data: transferData(RECIPIENT, 1n) });
    expect(filled).toMatchObject({ type: 0, gasPrice: 0n, chainId: 2201n, nonce: 0 });
    expect(BigInt(filled.gasLimit ?? 0)).toBeGreaterThan(21_000n);
    expect(await signerOf(5).signTransaction(filled)).toMatch(/^0x/);
  });

  it("throws typed errors for refusals of the service and of the chain, and for a missing provider", async () => {
    const elsewhere = { to: account(20).address, gasLimit: 50_000 };
    const refusal = { name: "SubmissionFailedError", reason: "TARGET_NOT_ALLOWED" };
    await expect(signerOf(5).sendTransaction(elsewhere)).rejects.toMatchObject(refusal);
    const contract = new Contract(TOKEN, ABI, signerOf(5));
    await expect(transfer(contract, 10n ** 60n)).rejects.toMatchObject({ code: "CALL_EXCEPTION" });
    const alone = new GasWaiverSigner(account(5), { url });
    await expect(alone.sendTransaction(elsewhere)).rejects.toMatchObject({ name: "UnusableAccountError" });
    const remote = new GasWaiverSigner(await chain.getSigner(1), { url });
    await expect(remote.sendTransaction(elsewhere)).rejects.toMatchObject({ name: "UnusableAccountError" });
    await expect(signerOf(5).sendTransaction({ data: "0x00" })).rejects.toThrow("creation");
  });

  it("signs messages with the signer that it wraps", async () => {
    expect(await signerOf(5).signMessage("hello")).toBe(await account(5).signMessage("hello"));
  });
});

describe("without the service", () => {
  it("the holder of a waiver key wraps and broadcasts a signed InnerTx", async () => {
    const inner = await account(6).signTransaction(transferOf(RECIPIENT, 5n, 0));
    const waiver = account(11);
    const nonce = await chain.getTransactionCount(waiver.address);
    const wrapper = await wrap(inner, { privateKey: waiver.privateKey as Hex }, { nonce, chainId: CHAIN_ID });
    expect(await broadcast(rpcUrl, wrapper)).toBe(hashOf(wrapper));
    const receipt = await chain.waitForTransaction(hashOf(inner));
    expect(receipt).toMatchObject({ status: 1, from: account(6).address, gasPrice: 0n });
    // The same bytes again are the same transaction; other bytes under a used nonce are refused.
    expect(await broadcast(rpcUrl, wrapper)).toBe(hashOf(wrapper));
    const next = await account(6).signTransaction(transferOf(RECIPIENT, 5n, 1));
    const late = await wrap(next, { privateKey: waiver.privateKey as Hex }, { nonce, chainId: CHAIN_ID });
    await expect(broadcast(rpcUrl, late)).rejects.toMatchObject({ name: "NodeRefusedError" });
  });
});
