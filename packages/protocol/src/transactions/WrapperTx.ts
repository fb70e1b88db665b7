import { assertWaiverSignature, type WaiverAccount } from "../accounts/waiverAccount.js";
import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto, Signature } from "../crypto/cryptoBackend.js";
import { bytesEqual } from "../encoding/hex.js";
import { MARKER_ADDRESS } from "../network.js";
import { encodeInnerTx, type InnerEncoding, type InnerTx } from "./InnerTx.js";
import { intrinsicGas } from "./intrinsicGas.js";
import {
  encodeTransaction,
  type SignedTransaction,
  signingHash,
  signingMessage,
  signTransaction,
  type UnsignedTransaction,
} from "./SignedTransaction.js";

/** The gas for unwrapping and verification that a WrapperTx carries on top (D5). */
export const DEFAULT_VERIFICATION_GAS = 50_000n;

/**
 * Tells whether a transaction is a wrapper: if and only if its `to` is the marker address
 * (docs/protocol.md).
 * @example
 * ```ts
 * if (isWrapper(tx)) console.log("carries", bytesToHex(decodeInnerTx(tx.data).raw));
 * ```
 */
export function isWrapper(tx: { readonly to: Uint8Array | undefined }): boolean {
  return tx.to !== undefined && bytesEqual(tx.to, MARKER_ADDRESS);
}

/** Options of {@link wrapInnerTx}. */
export interface WrapOptions {
  /** The waiver's nonce. */
  readonly nonce: bigint;
  /** The gas for the verification; {@link DEFAULT_VERIFICATION_GAS} by default. */
  readonly verificationGas?: bigint;
  /** The form of a typed InnerTx in the data (D1); `envelope` by default. */
  readonly innerEncoding?: InnerEncoding;
}

/**
 * Builds the unsigned WrapperTx around an InnerTx (D5): legacy EIP-155, to the marker, of value and gas price 0.
 * Its data is the signed InnerTx; its gas limit is the inner's plus its own intrinsic gas plus
 * verification.
 * @example
 * ```ts
 * const wrapper = wrapInnerTx(parseInnerTx(signedHex), { nonce: 7n });
 * ```
 */
export function wrapInnerTx(
  inner: InnerTx,
  { nonce, verificationGas, innerEncoding }: WrapOptions,
): UnsignedTransaction {
  const wrapper = {
    type: "legacy",
    chainId: inner.chainId,
    nonce,
    gasPrice: 0n,
    gasLimit: 0n,
    to: MARKER_ADDRESS,
    value: 0n,
    data: encodeInnerTx(inner, innerEncoding),
  } as const;
  const gasLimit = inner.gasLimit + intrinsicGas(wrapper) + (verificationGas ?? DEFAULT_VERIFICATION_GAS);
  return { ...wrapper, gasLimit };
}

/**
 * Adds the waiver's signature, made over `signingHash(wrapper)`, to an unsigned wrapper.
 * @param waiver the waiver's address, 20 bytes.
 * @throws {@link ProtocolError} `WRAPPER_INVALID_SIGNATURE` if the signature does not recover to the address or
 * has a high s (D33).
 * @example
 * ```ts
 * const wrapper = wrapInnerTx(inner, { nonce: 7n });
 * const signature = await waiver.sign(signingHash(wrapper));
 * const { raw } = assembleWrapperTx(wrapper, signature, waiver.address);
 * ```
 */
export function assembleWrapperTx(
  wrapper: UnsignedTransaction,
  signature: Signature,
  waiver: Uint8Array,
  crypto: Crypto = defaultCrypto,
): SignedTransaction {
  assertWaiverSignature(signingHash(wrapper, crypto), signature, waiver, crypto);
  return { ...wrapper, signature, raw: encodeTransaction(wrapper, signature) };
}

/**
 * Wraps an InnerTx and has the waiver sign the wrapper, wherever its key is kept.
 * @throws {@link ProtocolError} `WRAPPER_INVALID_SIGNATURE` if the signature is not the waiver's, and whatever the
 * waiver's `sign` throws.
 * @example
 * ```ts
 * const { raw } = await signWrapperTx(parseInnerTx(signedHex), privateKeyAccount(privateKey), { nonce: 7n });
 * ```
 */
export async function signWrapperTx(
  inner: InnerTx,
  waiver: WaiverAccount,
  options: WrapOptions,
  crypto: Crypto = defaultCrypto,
): Promise<SignedTransaction> {
  const wrapper = wrapInnerTx(inner, options);
  const signature = await waiver.sign(signingHash(wrapper, crypto), signingMessage(wrapper));
  return assembleWrapperTx(wrapper, signature, waiver.address, crypto);
}

/**
 * Wraps an InnerTx and signs the wrapper synchronously, with a private key in this process. It gives the same bytes as {@link
 * signWrapperTx} with the account of this key. It is for batches, where recovering each signature would double the
 * work.
 * @param waiverKey the waiver's private key, 32 bytes.
 * @example
 * ```ts
 * const { raw } = signWrapperTxWithKey(parseInnerTx(signedHex), privateKey, { nonce: 7n });
 * ```
 */
export function signWrapperTxWithKey(
  inner: InnerTx,
  waiverKey: Uint8Array,
  options: WrapOptions,
  crypto: Crypto = defaultCrypto,
): SignedTransaction {
  return signTransaction(wrapInnerTx(inner, options), waiverKey, crypto);
}
