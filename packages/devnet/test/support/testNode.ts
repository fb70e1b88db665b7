import {
  bytesToHex,
  concatBytes,
  crypto,
  decodeInnerTx,
  type Hex,
  hexToBytes,
  type SignedTransaction,
  signTransaction,
  type UnsignedTransaction,
  wrapInnerTx,
} from "@gas-waiver/protocol";
import { createDevnet, type Devnet } from "../../src/createDevnet.js";
import type { DevnetOptions } from "../../src/options.js";
import { devnetAccount } from "../../src/presets/accounts.js";
import { DEVNET_CHAIN_ID, TEST_TOKEN } from "../../src/presets/constants.js";

// A node that makes blocks only on request, and transactions signed by its accounts.

export function key(index: number): Uint8Array {
  return hexToBytes(devnetAccount(index).privateKey);
}

/** The address in lower case, as the node returns it. */
export function addressOf(index: number): Hex {
  return devnetAccount(index).address.toLowerCase() as Hex;
}

export function hashOf(raw: Hex): Hex {
  return bytesToHex(crypto.keccak256(hexToBytes(raw)));
}

const TRANSFER = hexToBytes("0xa9059cbb");

/** Calldata of `transfer(to, amount)`. */
export function transferData(to: Hex, amount: bigint): Uint8Array {
  const words = hexToBytes(`0x${to.slice(2).padStart(64, "0")}${amount.toString(16).padStart(64, "0")}`);
  return concatBytes(TRANSFER, words);
}

interface Changes {
  readonly nonce?: bigint;
  readonly gasPrice?: bigint;
  readonly gasLimit?: bigint;
  readonly to?: Uint8Array | undefined;
  readonly value?: bigint;
  readonly data?: Uint8Array;
  readonly chainId?: bigint;
}

/** Signs an inner transaction. By default it transfers one token to account 9. */
export function signInner(from: number, changes: Changes = {}): SignedTransaction {
  return signTransaction(
    {
      type: "legacy",
      chainId: DEVNET_CHAIN_ID,
      nonce: 0n,
      gasPrice: 0n,
      gasLimit: 100_000n,
      to: TEST_TOKEN,
      value: 0n,
      data: transferData(addressOf(9), 10n ** 18n),
      ...changes,
    },
    key(from),
  );
}

/** Signs the same transaction with a gas price of 1 gwei. */
export function signOrdinary(from: number, changes: Changes = {}): Hex {
  return bytesToHex(signInner(from, { gasPrice: 10n ** 9n, ...changes }).raw);
}

/** Wraps a signed inner transaction. By default the waiver is account 10 and the nonce 0. */
export function wrap(
  inner: SignedTransaction,
  {
    waiver = 10,
    nonce = 0n,
    ...changes
  }: Partial<UnsignedTransaction> & { waiver?: number; nonce?: bigint } = {},
): Hex {
  const unsigned = wrapInnerTx(decodeInnerTx(inner.raw), { nonce });
  return bytesToHex(signTransaction({ ...unsigned, ...changes } as UnsignedTransaction, key(waiver)).raw);
}

export interface TestNode {
  readonly devnet: Devnet;
  /** Calls one JSON-RPC method. @throws the method's error. */
  rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  send(raw: Hex): Promise<Hex>;
  /** Sends transactions and makes a block. */
  sendAndMine(...raws: Hex[]): Promise<void>;
  receipt(hash: Hex): Promise<TestReceipt>;
  nonce(index: number, tag?: string): Promise<bigint>;
  balance(index: number): Promise<bigint>;
  /** Returns the balance in the token's smallest unit. */
  tokens(index: number): Promise<bigint>;
}

export interface TestReceipt {
  readonly status: Hex;
  readonly from: Hex;
  readonly to: Hex | null;
  readonly gasUsed: Hex;
  readonly cumulativeGasUsed: Hex;
  readonly effectiveGasPrice: Hex;
  readonly transactionIndex: Hex;
  readonly blockNumber: Hex;
  readonly contractAddress: Hex | null;
  readonly logs: readonly { readonly address: Hex; readonly transactionHash: Hex; readonly logIndex: Hex }[];
}

/** A node that makes blocks only on request. Close `devnet` afterwards. */
export async function createTestNode(options: DevnetOptions = {}): Promise<TestNode> {
  const devnet = await createDevnet({ blockTimeMs: 0, automine: false, ...options });
  const rpc = async <T>(method: string, ...params: unknown[]) =>
    (await devnet.request({ method, params })) as T;
  const send = (raw: Hex) => rpc<Hex>("eth_sendRawTransaction", raw);
  return {
    devnet,
    rpc,
    send,
    async sendAndMine(...raws) {
      for (const raw of raws) await send(raw);
      await devnet.mine();
    },
    receipt: (hash) => rpc("eth_getTransactionReceipt", hash),
    nonce: async (index, tag = "latest") =>
      BigInt(await rpc<Hex>("eth_getTransactionCount", addressOf(index), tag)),
    balance: async (index) => BigInt(await rpc<Hex>("eth_getBalance", addressOf(index), "latest")),
    async tokens(index) {
      const data = `0x70a08231${addressOf(index).slice(2).padStart(64, "0")}`;
      return BigInt(await rpc<Hex>("eth_call", { to: bytesToHex(TEST_TOKEN), data }, "latest"));
    },
  };
}
