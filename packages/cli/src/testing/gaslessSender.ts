import { InvalidArgumentError, SubmissionFailedError, type WaiverClient } from "@gas-waiver/client";
import {
  bytesToHex,
  type Hex,
  hexToBytes,
  privateKeyToAddress,
  signTransaction as signWithKey,
} from "@gas-waiver/protocol";

/** A legacy transaction of gas price 0, under the names of viem and of ethers. */
export interface LegacyTransaction {
  readonly type: "legacy" | 0;
  readonly chainId: number;
  readonly nonce: number;
  readonly gasPrice: bigint;
  readonly gas: bigint;
  readonly gasLimit: bigint;
  readonly to: Hex;
  readonly value: bigint;
  readonly data: Hex;
}

/** An account that signs: one of the devnet, a private key, a wallet of ethers, or a local account of viem. */
export type GaslessWallet =
  | string
  | { readonly privateKey: string }
  | {
      readonly address: string;
      // Both libraries have types of their own for the parameter.
      // biome-ignore lint/suspicious/noExplicitAny: see above.
      signTransaction(transaction: any): Promise<string>;
    };

/** A call that a test makes as a user. */
export interface TestCall {
  readonly to: string;
  /** The calldata as 0x hex; empty by default. */
  readonly data?: string;
  /** The value in wei; 0 by default. */
  readonly value?: bigint;
  /** The gas limit; by default the node's estimate, and a fifth on top. */
  readonly gas?: bigint;
}

/** A receipt as the node gives it, with numbers as hex quantities. */
export interface TestReceipt {
  readonly transactionHash: Hex;
  readonly status: Hex;
  readonly blockNumber: Hex;
  readonly gasUsed: Hex;
  readonly effectiveGasPrice: Hex;
  readonly logs: readonly { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex }[];
}

/** Sends gasless transactions of one wallet, one after the other. */
export interface GaslessSender {
  readonly address: Hex;
  /**
   * Signs a transaction of gas price 0, submits it, and waits for its block.
   * @returns its receipt. A transaction that reverted has none here: the call rejects.
   * @throws SubmissionFailedError with the reason, InvalidArgumentError for a name in place of an address, or the node's error where it
   * refuses the estimate.
   */
  send(call: TestCall): Promise<TestReceipt>;
}

export interface GaslessDependencies {
  readonly chainId: number;
  readonly client: Pick<WaiverClient, "submit">;
  request(method: string, ...params: unknown[]): Promise<unknown>;
}

export function createGaslessSender(
  wallet: GaslessWallet,
  { chainId, client, request }: GaslessDependencies,
): GaslessSender {
  const signer = signerOf(wallet);
  const address = signer.address as Hex;
  // The nonce is the chain's, so that a revert needs no word: each transaction waits for the block of the one before.
  let last: Promise<unknown> = Promise.resolve();
  const send = async ({ to, data = "0x", value = 0n, gas }: TestCall): Promise<TestReceipt> => {
    if (!/^0x[0-9a-f]{40}$/i.test(to))
      throw new InvalidArgumentError(
        `to is ${to}, and no address: names are not resolved, and creation is not waived`,
      );
    const call = { from: address, to, data, value: `0x${value.toString(16)}`, gasPrice: "0x0" };
    const [gasLimit, nonce] = await Promise.all([
      gas ?? request("eth_estimateGas", call).then((estimate) => (BigInt(String(estimate)) * 6n) / 5n),
      request("eth_getTransactionCount", address, "pending").then(Number),
    ]);
    const signed = await signer.signTransaction({
      ...{ type: "legacy", chainId, nonce, gasPrice: 0n, gas: gasLimit, gasLimit },
      ...{ to: to as Hex, value, data: data as Hex },
    } satisfies LegacyTransaction);
    for await (const line of client.submit([signed], { wait: "included" })) {
      if (!line.success) throw new SubmissionFailedError(line.id, line.error);
      return (await request("eth_getTransactionReceipt", line.txHash)) as TestReceipt;
    }
    throw new Error("the service gave no line");
  };
  return {
    address,
    send(call) {
      const sent = last.then(() => send(call));
      last = sent.catch(() => {});
      return sent;
    },
  };
}

type Signer = Extract<GaslessWallet, { readonly address: string }>;

function signerOf(wallet: GaslessWallet): Signer {
  if (typeof wallet !== "string" && "signTransaction" in wallet && !("privateKey" in wallet)) return wallet;
  const key = hexToBytes(typeof wallet === "string" ? wallet : (wallet as { privateKey: string }).privateKey);
  return {
    address: bytesToHex(privateKeyToAddress(key)),
    async signTransaction({ chainId, nonce, gasLimit, to, value, data }: LegacyTransaction) {
      const numbers = { chainId: BigInt(chainId), nonce: BigInt(nonce), gasPrice: 0n, gasLimit, value };
      const { raw } = signWithKey(
        { type: "legacy", ...numbers, to: hexToBytes(to), data: hexToBytes(data) },
        key,
      );
      return bytesToHex(raw);
    },
  };
}
