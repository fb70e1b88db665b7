import {
  decodeInnerTx,
  hashTransaction,
  type InnerEncoding,
  signWrapperTxWithKey,
} from "@gas-waiver/protocol";

/** An accepted InnerTx and the waiver nonce that its wrapper gets. */
export interface WrapperRequest {
  /** The signed InnerTx as the user sent it. */
  readonly innerRaw: Uint8Array;
  readonly waiverNonce: bigint;
}

export interface SignedWrapper {
  /** The signed WrapperTx as a node takes it. */
  readonly wrapperRaw: Uint8Array;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
}

/** The parts that all wrappers of the service have in common. */
export interface WrappingOptions {
  /** The gas that the chain adds for the verification of a wrapper (D5). */
  readonly verificationGas: bigint;
  /** The form of a typed InnerTx in a wrapper's data (D1). */
  readonly innerEncoding: InnerEncoding;
}

/** The parts that all wrappers of one call have in common. */
export interface KeySigningOptions extends WrappingOptions {
  /** The waiver's private key, 32 bytes. */
  readonly waiverKey: Uint8Array;
}

/**
 * Wraps and signs in the order of the requests (D5). Signing is deterministic: the service and its signing thread make
 * the same bytes.
 * @throws {@link ProtocolError} if an InnerTx does not decode.
 */
export function signWrappers(
  requests: readonly WrapperRequest[],
  { waiverKey, verificationGas, innerEncoding }: KeySigningOptions,
): SignedWrapper[] {
  return requests.map(({ innerRaw, waiverNonce }) => {
    const options = { nonce: waiverNonce, verificationGas, innerEncoding };
    const wrapper = signWrapperTxWithKey(decodeInnerTx(innerRaw), waiverKey, options);
    return { wrapperRaw: wrapper.raw, wrapperHash: hashTransaction(wrapper) };
  });
}
