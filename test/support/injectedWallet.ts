import { EventEmitter } from "node:events";
import { JsonRpcProvider, type TransactionRequest, Wallet } from "ethers";

/** An error as wallets throw it (EIP-1193). */
class WalletError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

interface Call {
  readonly method: string;
  readonly params?: readonly unknown[];
}

/**
 * A wallet as a page sees it (EIP-1193): it keeps a key and networks, signs by itself, and sends through the RPC URL of its
 * network. It knows nothing of gas-waiver, and starts on a network where gas costs.
 */
export class InjectedWallet extends EventEmitter {
  readonly calls: Call[] = [];
  readonly networks = new Map<string, string | undefined>([["0x1", undefined]]);
  chainId = "0x1";
  /** Whether the user refuses what is to be signed. */
  declines = false;
  /** The gas limit of each transaction; estimated if undefined. */
  gasLimit: string | undefined;
  /** Whether the user has connected the account to the page. */
  #isConnected = false;
  readonly #key: string;
  readonly #providers = new Map<string, JsonRpcProvider>();

  constructor(privateKey: string) {
    super();
    this.#key = privateKey;
  }

  get address(): string {
    return new Wallet(this.#key).address;
  }

  async request(call: Call): Promise<unknown> {
    this.calls.push(call);
    const { method, params = [] } = call;
    switch (method) {
      case "eth_accounts":
        return this.#isConnected ? [this.address] : [];
      case "eth_requestAccounts":
        this.#isConnected = true;
        return [this.address];
      case "wallet_revokePermissions":
        this.#isConnected = false;
        return null;
      case "eth_chainId":
        return this.chainId;
      case "wallet_addEthereumChain":
        return this.#add(params[0] as { chainId: string; rpcUrls: readonly string[] });
      case "wallet_switchEthereumChain":
        return this.#switchTo((params[0] as { chainId: string }).chainId);
      case "eth_sendTransaction":
        return await this.#send(params[0] as Record<string, string>);
      default:
        if (method.startsWith("wallet_")) throw new WalletError(-32601, `no method ${method}`);
        return await this.#read(method, params);
    }
  }

  close(): void {
    for (const provider of this.#providers.values()) provider.destroy();
  }

  #add({ chainId, rpcUrls }: { readonly chainId: string; readonly rpcUrls: readonly string[] }): null {
    if (!this.networks.has(chainId)) this.networks.set(chainId, rpcUrls[0]);
    return this.#switchTo(chainId);
  }

  #switchTo(chainId: string): null {
    if (!this.networks.has(chainId)) throw new WalletError(4902, `unrecognized chain id ${chainId}`);
    const isOther = chainId !== this.chainId;
    this.chainId = chainId;
    if (isOther) this.emit("chainChanged", chainId);
    return null;
  }

  async #read(method: string, params: readonly unknown[]): Promise<unknown> {
    const node = this.#node();
    if (node === undefined) return method === "eth_gasPrice" ? "0x3b9aca00" : null;
    return await node.send(method, [...params]).catch(throwAsWallet);
  }

  /** Fills in what the page has left out, as wallets do, and signs. */
  async #send({ gas = this.gasLimit, ...request }: Record<string, string | undefined>): Promise<string> {
    if (this.declines) throw new WalletError(4001, "User rejected the request.");
    const node = this.#node();
    if (node === undefined) throw new WalletError(-32000, "insufficient funds for gas * price + value");
    const call: TransactionRequest = { ...request, ...(gas !== undefined && { gasLimit: gas }) };
    const { hash } = await new Wallet(this.#key, node).sendTransaction(call).catch(throwAsWallet);
    return hash;
  }

  #node(): JsonRpcProvider | undefined {
    const url = this.networks.get(this.chainId);
    if (url === undefined) return undefined;
    const provider =
      this.#providers.get(url) ?? new JsonRpcProvider(url, undefined, { cacheTimeout: -1, batchMaxCount: 1 });
    this.#providers.set(url, provider);
    return provider;
  }
}

/** Throws the node's error in the form of MetaMask: its own around that of the node. */
function throwAsWallet(error: {
  readonly error?: object;
  readonly info?: { readonly error?: object };
}): never {
  const ofNode = error.error ?? error.info?.error;
  throw ofNode ? new WalletError(-32603, "Internal JSON-RPC error.", ofNode) : error;
}
