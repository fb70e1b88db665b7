import { decryptKeystore, KeystoreError, openSealedKeystore } from "@gas-waiver/server";
import { usable } from "./custody.js";
import type { KeystoreFile } from "./keystoreFiles.js";
/**
 * Decrypts the private key of a keystore, by its seal or by the passphrase.
 * @param fail makes the error of a keystore that cannot be opened from the rest of a sentence that begins with the file.
 */
export async function openKeystore(
  { keystore }: KeystoreFile,
  passphrase: () => Promise<string>,
  fail: (reason: string) => Error,
): Promise<Uint8Array> {
  try {
    if (keystore.seal) return await usable(() => openSealedKeystore(keystore));
    return await decryptKeystore(keystore, await passphrase());
  } catch (error) {
    if (error instanceof KeystoreError) throw fail(error.message);
    throw error;
  }
}
