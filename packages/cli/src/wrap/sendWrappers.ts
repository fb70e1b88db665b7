import { broadcast, hashOf, WaiverClientError, wrap } from "@gas-waiver/client/self-hosted";
import { type Hex, type InnerEncoding, ProtocolError, type WaiverAccount } from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";

export interface Wrapped {
  /** The hash of the user's transaction. */
  readonly txHash: Hex;
  readonly wrapperHash: Hex;
  /** The waiver's nonce. */
  readonly nonce: bigint;
  /** The signed wrapper. */
  readonly wrapper: Hex;
}

export interface WrapSettings {
  readonly firstNonce: bigint;
  readonly chainId: bigint;
  readonly verificationGas: bigint | undefined;
  readonly innerEncoding: InnerEncoding | undefined;
}

/**
 * Wraps all transactions before any is sent, so that one that cannot be wrapped leaves no gap among the waiver's nonces.
 * @throws {@link CommandFailedError} with the rule that a transaction breaks.
 */
export async function wrapAll(
  transactions: readonly string[],
  waiver: WaiverAccount,
  { firstNonce, chainId, verificationGas, innerEncoding }: WrapSettings,
): Promise<Wrapped[]> {
  const all: Wrapped[] = [];
  for (const [i, signed] of transactions.entries()) {
    const nonce = firstNonce + BigInt(i);
    const options = {
      ...{ nonce, chainId },
      ...(verificationGas !== undefined && { verificationGas }),
      ...(innerEncoding && { innerEncoding }),
    };
    try {
      const wrapper = await wrap(signed, waiver, options);
      all.push({ txHash: hashOf(signed), wrapperHash: hashOf(wrapper), nonce, wrapper });
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new CommandFailedError(
        `transaction ${i + 1}: ${error.reason}: ${error.message}; nothing was sent`,
      );
    }
  }
  return all;
}

/**
 * Sends wrappers in the order of their nonces, and ends at the first that the node does not take, because the later ones
 * would wait behind its nonce.
 * @throws {@link CommandFailedError} with the node's answer.
 */
export async function sendAll(
  wrappers: readonly Wrapped[],
  rpcUrl: string,
  signal: AbortSignal,
): Promise<void> {
  for (const [i, { wrapper, wrapperHash, nonce }] of wrappers.entries()) {
    try {
      await broadcast(rpcUrl, wrapper, { signal });
    } catch (error) {
      if (!(error instanceof WaiverClientError)) throw error;
      const isUnclear = "certainty" in error && error.certainty === "unknown";
      const advice = isUnclear
        ? `; the node may have it: look for ${wrapperHash} before nonce ${nonce} is used again`
        : "";
      throw new CommandFailedError(
        `transaction ${i + 1} (nonce ${nonce}): ${error.message}; ${i} of ${wrappers.length} were sent before it${advice}`,
        { cause: error },
      );
    }
  }
}
