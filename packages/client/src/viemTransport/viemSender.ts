import { type Address, type Hex, type LocalAccount, numberToHex } from "viem";
import type { GaslessSender } from "../gasless/gaslessCall.js";

/** An account of viem that signs without sending, as `privateKeyToAccount` returns it. */
export type SigningAccount = Pick<LocalAccount, "address" | "signTransaction">;

/** The request function of a client or transport of viem. */
export type NodeRequest = (call: {
  readonly method: string;
  readonly params?: readonly unknown[];
}) => Promise<unknown>;

/**
 * Returns a sender that reads the chain with viem.
 * @param chainId asked from the node if undefined.
 */
export function viemSender(
  request: NodeRequest,
  account: SigningAccount,
  chainId: number | undefined,
): GaslessSender {
  const { address } = account;
  const read = async (method: string, ...params: unknown[]) =>
    BigInt((await request({ method, params })) as Hex);
  return {
    address,
    chainId: async () => chainId ?? Number(await read("eth_chainId")),
    transactionCount: async () => Number(await read("eth_getTransactionCount", address, "pending")),
    // viem's estimateGas fills in fees for a local account, so the node is asked directly.
    estimateGas: ({ to, data, value }) =>
      read("eth_estimateGas", { from: address, to, data, value: numberToHex(value), gasPrice: "0x0" }),
    transactionOf: async (hash) => {
      const known = Object(await request({ method: "eth_getTransactionByHash", params: [hash] }));
      const { from, to, input, value } = known;
      return from === undefined ? null : { from, to, data: input, value: BigInt(value) };
    },
    sign: ({ nonce, gas, to, data, value, ...transaction }) =>
      account.signTransaction({
        ...{ type: "legacy", gasPrice: 0n, chainId: transaction.chainId, nonce, gas, value },
        ...{ to: to as Address, data: data as Hex },
      }),
  };
}
