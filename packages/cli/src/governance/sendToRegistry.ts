import {
  bytesToHex,
  type Hex,
  privateKeyToAddress,
  REGISTRY_ADDRESS,
  signTransaction,
} from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { JsonRpcClient, type Receipt } from "../jsonRpcClient.js";
import { asCommandFailure } from "./registry.js";

/** Another vote that lands first may make this one carry the proposal, which costs more gas than the estimate. */
const GAS_MARGIN = 200_000n;

/** The nodes by which the registry is reached. */
export interface RegistryAccess {
  readonly rpcUrl: string | readonly string[];
  readonly signal: AbortSignal;
}

/**
 * Sends a transaction to the registry from a validator, who pays for it, and waits for its block. A call that the registry would refuse is not sent: the gas estimate fails first.
 * @throws CommandFailedError with the registry's or the node's reason.
 */
export async function sendAsValidator(
  { rpcUrl, signal }: RegistryAccess,
  privateKey: Uint8Array | undefined,
  data: Uint8Array,
): Promise<Receipt> {
  if (privateKey === undefined) throw new Error("no validator is named");
  const node = new JsonRpcClient(rpcUrl, signal);
  const from = bytesToHex(privateKeyToAddress(privateKey));
  const call = { from, to: bytesToHex(REGISTRY_ADDRESS), data: bytesToHex(data) };
  try {
    const [gas, gasPrice, nonce, chainId] = await Promise.all([
      node.quantity("eth_estimateGas", [call]),
      node.quantity("eth_gasPrice"),
      node.quantity("eth_getTransactionCount", [from, "pending"]),
      node.quantity("eth_chainId"),
    ]);
    const fields = { type: "legacy", to: REGISTRY_ADDRESS, value: 0n, data } as const;
    const gasLimit = gas + GAS_MARGIN;
    const { raw } = signTransaction({ ...fields, chainId, nonce, gasPrice, gasLimit }, privateKey);
    const hash = await node.request<Hex>("eth_sendRawTransaction", [bytesToHex(raw)]);
    const receipt = await node.inclusion(hash);
    if (BigInt(receipt.status) === 1n) return receipt;
    // The estimate passed, so the state has changed since. The same call on the new state fails with the reason.
    await node.request("eth_call", [call, "latest"]);
    throw new CommandFailedError(`transaction ${hash} reverted in block ${BigInt(receipt.blockNumber)}`);
  } catch (error) {
    throw asCommandFailure(error);
  }
}
