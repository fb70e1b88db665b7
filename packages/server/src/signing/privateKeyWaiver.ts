import { privateKeyAccount, type WaiverAccount } from "@gas-waiver/protocol";

/** The keys of the accounts that were made here. Only `createSigner` reads them. */
const keys = new WeakMap<WaiverAccount, Uint8Array>();

/**
 * Makes the waiver of a private key that is in this process. The service signs large batches with it in a thread, which an
 * account of `privateKeyAccount` does not allow: nothing but this file knows the key of an account.
 * @param privateKey 32 bytes.
 * @throws if it is not a private key; the message does not contain it.
 * @example
 * ```ts
 * const server = await createServer({ waivers: [privateKeyWaiver(hexToBytes(waiverKeyHex))], ...options });
 * ```
 */
export function privateKeyWaiver(privateKey: Uint8Array): WaiverAccount {
  const account = privateKeyAccount(privateKey);
  keys.set(account, privateKey);
  return account;
}

/** Returns the private key (32 bytes) of an account that {@link privateKeyWaiver} made; undefined for any other. */
export function privateKeyOf(account: WaiverAccount): Uint8Array | undefined {
  return keys.get(account);
}
