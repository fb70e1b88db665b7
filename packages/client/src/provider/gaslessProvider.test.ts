import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { announceProvider, type Eip1193Provider, gaslessProvider } from "../index.js";

const GATEWAY = { url: "https://relay.example.com/", apiKey: "gwp_live_key", chainId: 2201 };
const URL_OF_GATEWAY = "https://relay.example.com/rpc/gwp_live_key";

interface Call {
  readonly method: string;
  readonly params?: unknown;
}

/** A wallet on one RPC URL, which may take another one when it is asked to add a network. */
class Wallet extends EventEmitter implements Eip1193Provider {
  readonly calls: Call[] = [];
  chainId = "0x1";
  url = "https://node.example";
  /** The error that the wallet throws instead of sending. */
  refusal: object | undefined;
  /** Whether the wallet keeps the URL of a network that it has. */
  keepsUrl = false;

  async request({ method, params }: Call): Promise<unknown> {
    this.calls.push({ method, params });
    switch (method) {
      case "eth_chainId":
        return this.chainId;
      case "eth_gasPrice":
        return this.url === URL_OF_GATEWAY ? "0x0" : "0x3b9aca00";
      case "wallet_addEthereumChain": {
        const [{ chainId, rpcUrls }] = params as [{ chainId: string; rpcUrls: string[] }];
        if (!this.keepsUrl) this.url = rpcUrls[0] ?? "";
        this.chainId = chainId;
        return null;
      }
      default:
        if (method === "eth_sendTransaction" && this.refusal) throw this.refusal;
        return method === "eth_sendTransaction" ? "0xhash" : `${method} of the wallet`;
    }
  }

  get methods(): string[] {
    return this.calls.map(({ method }) => method);
  }
}

const send = (call: object) => ({ method: "eth_sendTransaction", params: [call] });

describe("gaslessProvider", () => {
  it("adds the gateway as the network when the page connects, and once only", async () => {
    const wallet = new Wallet();
    const provider = gaslessProvider(wallet, { ...GATEWAY, chainName: "Our chain" });
    expect(await provider.request({ method: "eth_requestAccounts" })).toBe(
      "eth_requestAccounts of the wallet",
    );
    await provider.request({ method: "eth_requestAccounts" });
    const added = wallet.calls.filter(({ method }) => method === "wallet_addEthereumChain");
    const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
    const network = { chainId: "0x899", chainName: "Our chain", rpcUrls: [URL_OF_GATEWAY], nativeCurrency };
    expect(added.map(({ params }) => params)).toEqual([[network]]);
  });

  it("asks for no network that the wallet is on", async () => {
    const wallet = Object.assign(new Wallet(), { chainId: "0x899", url: URL_OF_GATEWAY });
    await gaslessProvider(wallet, GATEWAY).request({ method: "eth_requestAccounts" });
    expect(wallet.methods).toEqual(["eth_chainId", "eth_gasPrice", "eth_requestAccounts"]);
  });

  it("sends with price 0 in place of any other, and returns the wallet's hash", async () => {
    const wallet = new Wallet();
    const call = { from: "0xa", to: "0xb", data: "0x", maxFeePerGas: "0x5", maxPriorityFeePerGas: "0x1" };
    expect(await gaslessProvider(wallet, GATEWAY).request(send(call))).toBe("0xhash");
    expect(wallet.calls.at(-1)).toEqual(send({ from: "0xa", to: "0xb", data: "0x", gasPrice: "0x0" }));
  });

  it("does the same for wallet_sendTransaction, which viem tries second", async () => {
    const wallet = new Wallet();
    const call = { method: "wallet_sendTransaction", params: [{ to: "0xb", gasPrice: "0x5" }] };
    await gaslessProvider(wallet, GATEWAY).request(call);
    expect(wallet.calls.at(-1)).toEqual({ ...call, params: [{ to: "0xb", gasPrice: "0x0" }] });
  });

  it("throws the gateway's refusal as the gateway gave it, whatever the wallet wraps around it", async () => {
    const data = { reason: "TARGET_NOT_ALLOWED" };
    const refusal = { code: -32003, message: "transaction rejected: not this target", data };
    const wrapped = { code: -32603, message: "Internal JSON-RPC error.", data: refusal };
    const wallet = Object.assign(new Wallet(), { refusal: wrapped });
    const refused = gaslessProvider(wallet, GATEWAY).request(send({ to: "0xb" }));
    await expect(refused).rejects.toMatchObject({ ...refusal, cause: wrapped });
  });

  it("leaves out the type of EIP-1559, which wallets refuse beside a gas price, and no other", async () => {
    const wallet = new Wallet();
    const provider = gaslessProvider(wallet, GATEWAY);
    await provider.request(send({ to: "0xb", type: "0x2" }));
    expect(wallet.calls.at(-1)).toEqual(send({ to: "0xb", gasPrice: "0x0" }));
    await provider.request(send({ to: "0xb", type: "0x1", accessList: [] }));
    expect(wallet.calls.at(-1)).toEqual(send({ to: "0xb", type: "0x1", accessList: [], gasPrice: "0x0" }));
  });

  it("sends nothing through a wallet that went to another chain without an event", async () => {
    const wallet = new Wallet();
    const provider = gaslessProvider(wallet, GATEWAY);
    await provider.request({ method: "eth_requestAccounts" });
    wallet.chainId = "0x539";
    await expect(provider.request(send({ to: "0xb" }))).rejects.toThrow("the wallet is on another chain");
    expect(wallet.methods).not.toContain("eth_sendTransaction");
  });

  it("sends nothing through a wallet that keeps its own URL, and says what to choose there", async () => {
    const wallet = Object.assign(new Wallet(), { keepsUrl: true });
    const sent = gaslessProvider(wallet, GATEWAY).request(send({ from: "0xa", to: "0xb" }));
    await expect(sent).rejects.toMatchObject({ name: "WalletNetworkError", code: 4901 });
    await expect(sent).rejects.toThrow(`choose ${URL_OF_GATEWAY} for the network Gasless`);
    expect(wallet.methods).not.toContain("eth_sendTransaction");
  });

  it("asks again when the wallet has changed its chain, or the user has refused", async () => {
    const wallet = new Wallet();
    const provider = gaslessProvider(wallet, GATEWAY);
    await provider.request(send({}));
    Object.assign(wallet, { chainId: "0x1", url: "https://node.example" }).emit("chainChanged", "0x1");
    await provider.request(send({}));
    expect(wallet.methods.filter((method) => method === "wallet_addEthereumChain")).toHaveLength(2);
    const refusing: Eip1193Provider = { request: () => Promise.reject(new Error("the user says no")) };
    const refused = gaslessProvider(refusing, GATEWAY);
    await expect(refused.request(send({}))).rejects.toThrow("the user says no");
    await expect(refused.request(send({}))).rejects.toThrow("the user says no");
  });

  it("passes all other methods and the wallet's events on", async () => {
    const wallet = new Wallet();
    const provider = gaslessProvider(wallet, GATEWAY);
    expect(await provider.request({ method: "eth_call", params: [{}, "latest"] })).toBe(
      "eth_call of the wallet",
    );
    expect(wallet.calls).toEqual([{ method: "eth_call", params: [{}, "latest"] }]);
    const accounts: unknown[] = [];
    const listener = (...values: unknown[]) => accounts.push(...values);
    provider.on?.("accountsChanged", listener);
    wallet.emit("accountsChanged", "0xa");
    provider.removeListener?.("accountsChanged", listener);
    wallet.emit("accountsChanged", "0xb");
    expect(accounts).toEqual(["0xa"]);
  });

  it("takes no secret key, which the wallet would show and keep", () => {
    const secret = { ...GATEWAY, apiKey: "gw_live_secret" };
    expect(() => gaslessProvider(new Wallet(), secret)).toThrow(/must be publishable/);
  });
});

describe("announceProvider", () => {
  it("announces now and whenever a library asks, until it is stopped", () => {
    const page = new EventTarget();
    const announced: unknown[] = [];
    page.addEventListener("eip6963:announceProvider", (event) =>
      announced.push((event as CustomEvent).detail),
    );
    const provider = gaslessProvider(new Wallet(), GATEWAY);
    const info = {
      uuid: "7f2c6a8e-4a3c-4d0e-9a51-0c8c1f7b2d3e",
      name: "Ours",
      icon: "data:,",
      rdns: "com.example",
    };
    const stop = announceProvider(provider, info, page);
    page.dispatchEvent(new Event("eip6963:requestProvider"));
    stop();
    page.dispatchEvent(new Event("eip6963:requestProvider"));
    expect(announced).toEqual([
      { info, provider },
      { info, provider },
    ]);
  });
});
