import {
  assembleWrapperTx,
  decodeInnerTx,
  hashTransaction,
  type Signature,
  signingHash,
  type WaiverAccount,
  wrapInnerTx,
} from "@gas-waiver/protocol";
import { chunk } from "../util/chunk.js";
import type { SignedWrapper, WrapperRequest, WrappingOptions } from "./wrappers.js";

/** A custody whose signing service takes several hashes in one call implements this beside `sign`. */
export interface BatchWaiverAccount extends WaiverAccount {
  /** Signs 32-byte hashes like `sign`, in their order. */
  signAll(hashes: readonly Uint8Array[]): Promise<readonly Signature[]>;
}

/** The custody did not sign, or its signature is not the waiver's. Nothing was stored or sent. */
export class CustodyError extends Error {
  override readonly name = "CustodyError";
}

/** Calls of `sign` that one batch has open at a time: a signing service limits its callers. */
const MAX_OPEN_CALLS = 16;

/**
 * Wraps the InnerTxs and has a custody sign them, wherever its key is (D5, D33).
 * @throws {@link CustodyError} if the custody fails, or gives a signature that does not recover to the address. Then no
 * wrapper of the batch is returned: "A signature that does not recover to the address is never sent" (D33).
 */
export async function signWithAccount(
  requests: readonly WrapperRequest[],
  account: WaiverAccount,
  { verificationGas, innerEncoding }: WrappingOptions,
): Promise<SignedWrapper[]> {
  const unsigned = requests.map(({ innerRaw, waiverNonce }) =>
    wrapInnerTx(decodeInnerTx(innerRaw), { nonce: waiverNonce, verificationGas, innerEncoding }),
  );
  const hashes = unsigned.map((wrapper) => signingHash(wrapper));
  try {
    const signatures = isBatchAccount(account)
      ? await account.signAll(hashes)
      : await signEach(hashes, account);
    return unsigned.map((wrapper, i) => {
      const signature = signatures[i];
      if (signature === undefined)
        throw new Error(`it gave ${signatures.length} of ${hashes.length} signatures`);
      const signed = assembleWrapperTx(wrapper, signature, account.address);
      return { wrapperRaw: signed.raw, wrapperHash: hashTransaction(signed) };
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new CustodyError(`the waiver's custody did not sign: ${message}`, { cause: error });
  }
}

async function signEach(hashes: readonly Uint8Array[], account: WaiverAccount): Promise<Signature[]> {
  const signatures: Signature[] = [];
  for (const part of chunk(hashes, MAX_OPEN_CALLS)) {
    signatures.push(...(await Promise.all(part.map((hash) => account.sign(hash)))));
  }
  return signatures;
}

function isBatchAccount(account: WaiverAccount): account is BatchWaiverAccount {
  return "signAll" in account && typeof account.signAll === "function";
}
