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
import { createDevnet, type Devnet } from "../createDevnet.js";
import type { DevnetOptions } from "../options.js";
import { devnetAccount } from "../presets/accounts.js";
import { DEVNET_CHAIN_ID, TEST_TOKEN } from "../presets/constants.js";

// What the tests of this package share: a node that mines when told to, and signatures of its accounts.

export function key(index: number): Uint8Array {
  return hexToBytes(devnetAccount(index).privateKey);
}

/** Lower case, as the node answers. */
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

/** An inner transaction: one token to account 9, unless told otherwise. */
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

/** The same, paid for: 1 gwei per gas. */
export function signOrdinary(from: number, changes: Changes = {}): Hex {
  return bytesToHex(signInner(from, { gasPrice: 10n ** 9n, ...changes }).raw);
}

/** A wrapper around signed bytes, by waiver 10 with nonce 0, unless told otherwise. */
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
  /** One JSON-RPC method; throws as the method does. */
  rpc<T = unknown>(method: string, ...params: unknown[]): Promise<T>;
  send(raw: Hex): Promise<Hex>;
  /** Sends and makes a block. */
  sendAndMine(...raws: Hex[]): Promise<void>;
  receipt(hash: Hex): Promise<TestReceipt>;
  nonce(index: number, tag?: string): Promise<bigint>;
  balance(index: number): Promise<bigint>;
  /** In the token's smallest unit. */
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

/** A node that makes blocks only when told to. Close `devnet` afterwards. */
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
