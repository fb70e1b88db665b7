import { crypto as defaultCrypto } from "#crypto";
import type { Crypto } from "./crypto/Crypto.js";
import type { InnerTx } from "./InnerTx.js";
import { intrinsicGas } from "./intrinsicGas.js";
import { MARKER_ADDRESS } from "./network.js";
import { type SignedTransaction, signTransaction, type UnsignedTransaction } from "./SignedTransaction.js";

/** Gas for unwrapping and verification that a WrapperTx carries on top (D5). */
export const DEFAULT_VERIFICATION_GAS = 50_000n;

export interface WrapOptions {
  /** The waiver's nonce. */
  readonly nonce: bigint;
  /** In gas; {@link DEFAULT_VERIFICATION_GAS} by default. */
  readonly verificationGas?: bigint;
}

/**
 * The unsigned WrapperTx around an InnerTx (D5): legacy EIP-155, to the marker, value 0, gas price 0, its data
 * the signed bytes of the InnerTx, its gas limit the inner's plus its own intrinsic gas plus verification.
 */
export function wrapInnerTx(inner: InnerTx, { nonce, verificationGas }: WrapOptions): UnsignedTransaction {
  const wrapper = {
    type: "legacy",
    chainId: inner.chainId,
    nonce,
    gasPrice: 0n,
    gasLimit: 0n,
    to: MARKER_ADDRESS,
    value: 0n,
    data: inner.raw,
  } as const;
  const gasLimit = inner.gasLimit + intrinsicGas(wrapper) + (verificationGas ?? DEFAULT_VERIFICATION_GAS);
  return { ...wrapper, gasLimit };
}

/** Wraps and signs with the waiver's private key (32 bytes). */
export function signWrapperTx(
  inner: InnerTx,
  waiverKey: Uint8Array,
  options: WrapOptions,
  crypto: Crypto = defaultCrypto,
): SignedTransaction {
  return signTransaction(wrapInnerTx(inner, options), waiverKey, crypto);
}
