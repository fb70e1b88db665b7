import { decodeInnerTx, hashTransaction, signWrapperTxWithKey } from "@gas-waiver/protocol";

/** An accepted InnerTx with the waiver nonce that its wrapper gets. */
export interface WrapperRequest {
  readonly innerRaw: Uint8Array;
  readonly waiverNonce: bigint;
}

export interface SignedWrapper {
  readonly wrapperRaw: Uint8Array;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
}

/** What is the same for all wrappers of one call. */
export interface WrapOptions {
  /** 32 bytes. */
  readonly waiverKey: Uint8Array;
  readonly verificationGas: bigint;
}

/** Wraps and signs, in the order given (D5). The same input makes the same bytes, wherever it is done. */
export function signWrappers(
  toWrap: readonly WrapperRequest[],
  { waiverKey, verificationGas }: WrapOptions,
): SignedWrapper[] {
  return toWrap.map(({ innerRaw, waiverNonce }) => {
    const options = { nonce: waiverNonce, verificationGas };
    const wrapper = signWrapperTxWithKey(decodeInnerTx(innerRaw), waiverKey, options);
    return { wrapperRaw: wrapper.raw, wrapperHash: hashTransaction(wrapper) };
  });
}
