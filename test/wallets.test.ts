// Pages in front of a wallet on another network: viem and wagmi over the gasless provider, with a user without native coin.
import { gaslessProvider, gatewayRefusal } from "@gas-waiver/client";
import {
  gaslessChain,
  gaslessTransport,
  gaslessWriteContract,
  readGaslessChain,
  type SubmissionRecord,
  sponsorableQueryOptions,
  submissionQueryOptions,
} from "@gas-waiver/client/wagmi";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { createWalletClient, custom, encodeFunctionData, type Hex, parseAbi, parseEventLogs } from "viem";
import {
  getCallsStatus,
  getCapabilities,
  sendCalls,
  waitForCallsStatus,
  waitForTransactionReceipt,
} from "viem/actions";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createConfig, injected } from "wagmi";
import { connect, getPublicClient } from "wagmi/actions";
import { InjectedWallet } from "./support/injectedWallet.js";
import { registryService } from "./support/registryService.js";
import { account, CHAIN_ID, TOKEN } from "./support/user.js";

// Without a window, wagmi finds no wallet, and TanStack Query reads nothing again. They look for it when they are loaded.
vi.hoisted(() => {
  Object.assign(globalThis, { window: new EventTarget() });
});
// With it, the SDKs that later tests of this process load would take the process for a browser.
afterAll(() => {
  Reflect.deleteProperty(globalThis, "window");
});

const ABI = parseAbi([
  "function transfer(address to, uint256 amount) returns (bool)",
  "function burn(uint256 amount)",
  "event Transfer(address indexed from, address indexed to, uint256 amount)",
]);
const RECIPIENT = account(9).address as Hex;
const KEY = "gwp_test_wallets";
const started = registryService([10], { publicApiKeys: [KEY] });
let gateway: { readonly url: string; readonly apiKey: string; readonly chainId: number };
beforeAll(() => {
  gateway = { url: started().url, apiKey: KEY, chainId: CHAIN_ID };
});

const wallets: InjectedWallet[] = [];
afterEach(() => {
  for (const wallet of wallets.splice(0)) wallet.close();
});

function walletOf(i: number): InjectedWallet {
  const wallet = new InjectedWallet(account(i).privateKey);
  wallets.push(wallet);
  return wallet;
}

const nativeBalance = async (i: number) =>
  BigInt(await started().rpc<string>("eth_getBalance", account(i).address, "latest"));

const transfer = (amount: bigint) => ({
  to: TOKEN as Hex,
  data: encodeFunctionData({ abi: ABI, functionName: "transfer", args: [RECIPIENT, amount] }),
});

describe("EIP-5792 with viem, in front of a wallet that has only eth_sendTransaction", () => {
  const clientOf = async (i: number, wallet = walletOf(i)) => {
    const provider = gaslessProvider(wallet, gateway);
    await provider.request({ method: "eth_requestAccounts" });
    const transport = custom(provider as never, { retryCount: 0 });
    const client = createWalletClient({
      account: account(i).address as Hex,
      chain: gaslessChain(gateway),
      pollingInterval: 50,
      transport,
    });
    return { wallet, client };
  };

  it("sends calls in sequence, and waits for the receipts of all", async () => {
    const { client } = await clientOf(0);
    expect(await nativeBalance(0)).toBe(0n);
    const { id } = await sendCalls(client, { calls: [transfer(1n), transfer(2n), transfer(3n)] });
    const status = await waitForCallsStatus(client, { id });
    expect(status).toMatchObject({ status: "success", statusCode: 200, atomic: false, chainId: CHAIN_ID });
    const amounts = status.receipts?.map(({ logs }) => parseEventLogs({ abi: ABI, logs: logs as never }));
    expect(amounts).toMatchObject([1n, 2n, 3n].map((amount) => [{ args: { amount } }]));
    expect(await nativeBalance(0)).toBe(0n);
  });

  it("tells a partial failure: a later call that reverts takes nothing back", async () => {
    const { client, wallet } = await clientOf(1);
    // With an estimate, the wallet would find the revert before it sends.
    wallet.gasLimit = "0x186a0";
    const { id } = await sendCalls(client, { calls: [transfer(1n), transfer(2n ** 255n)] });
    const status = await waitForCallsStatus(client, { id });
    expect([status.status, status.statusCode]).toEqual(["failure", 600]);
    expect(status.receipts?.map((receipt) => receipt.status)).toEqual(["success", "reverted"]);
  });

  it("refuses what it cannot do, in viem's own errors", async () => {
    const { client, wallet } = await clientOf(2);
    const calls = [transfer(1n)];
    const namesOf = async (sent: Promise<unknown>) => {
      const names: string[] = [];
      let error: unknown = await sent.catch((one: unknown) => one);
      for (; error instanceof Error; error = error.cause) names.push(error.name);
      return names;
    };
    expect(await namesOf(sendCalls(client, { calls, forceAtomic: true }))).toContain(
      "AtomicityNotSupportedError",
    );
    const capabilities = { auxiliaryFunds: { requiredAssets: [] } };
    expect(await namesOf(sendCalls(client, { calls, capabilities }))).toContain(
      "UnsupportedNonOptionalCapabilityError",
    );
    expect(await namesOf(getCallsStatus(client, { id: "0x5" }))).toContain("UnknownBundleIdError");
    expect(await getCapabilities(client)).toEqual({
      [CHAIN_ID]: { atomic: { status: "unsupported" }, paymasterService: { supported: true } },
    });
    wallet.declines = true;
    expect(await namesOf(sendCalls(client, { calls }))).toContain("UserRejectedRequestError");
  });
});

describe("wagmi", () => {
  const connected = async (i: number) => {
    const wallet = walletOf(i);
    const chain = gaslessChain(gateway);
    const config = createConfig({
      chains: [chain],
      transports: { [chain.id]: gaslessTransport() },
      connectors: [injected({ target: () => ({ id: "w", name: "W", provider: wallet as never }) })],
      multiInjectedProviderDiscovery: false,
      pollingInterval: 50,
    });
    const [connector] = config.connectors;
    if (connector === undefined) throw new Error("the config has no connector");
    await connect(config, { connector });
    return { wallet, config };
  };
  const call = { address: TOKEN as Hex, abi: ABI, functionName: "transfer", args: [RECIPIENT, 7n] } as const;

  it("writes through a wallet on another network, and follows the submission to its end", async () => {
    const { wallet, config } = await connected(3);
    const queries = new QueryClient();
    expect(await nativeBalance(3)).toBe(0n);
    const hash = await gaslessWriteContract(config, call);
    expect([...wallet.networks.values()]).toContain(`${gateway.url}/rpc/${KEY}`);
    const records: (SubmissionRecord | undefined)[] = [];
    const observer = new QueryObserver(queries, submissionQueryOptions(config, { hash, pollMs: 20 }));
    const stop = observer.subscribe(({ data }) => records.push(data));
    await expect.poll(() => records.at(-1)?.state).toBe("included");
    expect(records.at(-1)).toMatchObject({ txHash: hash, state: "included" });
    expect(observer.options.refetchInterval).toBeTypeOf("function");
    stop();
    const client = getPublicClient(config);
    if (client === undefined) throw new Error("the config has no client");
    const receipt = await waitForTransactionReceipt(client, { hash });
    expect(parseEventLogs({ abi: ABI, logs: receipt.logs })).toMatchObject([{ args: { amount: 7n } }]);
    expect(await nativeBalance(3)).toBe(0n);
    queries.clear();
  });

  it("asks before signing whether a call is free, by calldata and by the contract's function", async () => {
    const { config } = await connected(4);
    const queries = new QueryClient();
    const ask = (asked: Parameters<typeof sponsorableQueryOptions>[1]["call"]) =>
      queries.fetchQuery(sponsorableQueryOptions(config, { call: asked }));
    expect(await ask(transfer(1n))).toEqual({ sponsorable: true });
    expect(await ask(call)).toEqual({ sponsorable: true });
    expect(await ask({ to: RECIPIENT })).toMatchObject({
      sponsorable: false,
      reason: "TARGET_NOT_ALLOWED",
      message: expect.stringContaining("is not permitted"),
    });
    queries.clear();
  });

  it("gives the service's refusal out of what wallet and viem wrap around it", async () => {
    const { config } = await connected(5);
    const other = { ...call, address: RECIPIENT, gas: 100_000n };
    const error = await gaslessWriteContract(config, other).catch((one: unknown) => one);
    expect(gatewayRefusal(error)).toMatchObject({ reason: "TARGET_NOT_ALLOWED" });
  });

  it("stops following what the key cannot see", async () => {
    const { config } = await connected(6);
    const queries = new QueryClient();
    const options = submissionQueryOptions(config, { hash: `0x${"00".repeat(32)}`, pollMs: 1 });
    const error = await queries.fetchQuery(options).catch((one: unknown) => one);
    expect(error).toMatchObject({ name: "RequestRefusedError", status: 404 });
    expect(options.refetchInterval({ state: { data: undefined, error } })).toBe(false);
    expect(options.refetchInterval({ state: { data: undefined, error: null } })).toBe(1);
    queries.clear();
  });

  it("takes the chain's id from the service", async () => {
    const { chainId, ...service } = gateway;
    expect(await readGaslessChain(service)).toEqual(gaslessChain({ ...service, chainId }));
    expect(() => gaslessChain({ ...gateway, apiKey: "gw_secret" })).toThrow(/must be publishable/);
  });

  it("takes no chain that has no gateway", async () => {
    const plain = { ...gaslessChain(gateway), custom: {} };
    const config = createConfig({ chains: [plain], transports: { [plain.id]: gaslessTransport() } });
    expect(() => submissionQueryOptions(config, { hash: undefined })).toThrow(
      "the wagmi config has no chain made by gaslessChain",
    );
  });
});
