import { randomBytes } from "node:crypto";
import { decryptKeystore, encryptKeystore, type Keystore, KeystoreError } from "../keystore.js";
import type { KmsOptions } from "./kmsKey.js";
import { atStart, openKmsKey, readName, retryThrottled } from "./openKms.js";

/** The work of a guess is of no use against a passphrase of 32 random bytes. */
const SCRYPT_N = 4_096;

/**
 * Encrypts a private key under a random passphrase, and the passphrase with a key of a cloud's key management service. The
 * keystore opens wherever that service decrypts for the workload.
 * @param kmsKey the name of a key that encrypts: one for symmetric encryption of AWS KMS or Google Cloud KMS, or an RSA key of
 * Azure Key Vault.
 * @throws {@link StartError} if the key cannot be used.
 * @example
 * ```ts
 * const keystore = await sealKeystore(privateKey, "arn:aws:kms:eu-central-1:111122223333:alias/seal");
 * ```
 */
export async function sealKeystore(
  privateKey: Uint8Array,
  kmsKey: string,
  options: KmsOptions = {},
): Promise<Keystore> {
  const name = readName(kmsKey);
  const passphrase = randomBytes(32);
  const keystore = await encryptKeystore(privateKey, passphrase.toString("hex"), { n: SCRYPT_N });
  return await atStart(name, async () => {
    const key = await openKmsKey(name, options);
    const sealed = await retryThrottled(() => key.encrypt(passphrase, contextOf(keystore)));
    const ciphertext = Buffer.from(sealed.ciphertext).toString("base64");
    return { ...keystore, seal: { key: sealed.key, passphrase: ciphertext } };
  });
}

/**
 * Decrypts the private key of a sealed keystore, 32 bytes. The key management service is called once.
 * @throws {@link StartError} if the service does not open the seal, and {@link KeystoreError} if the keystore is damaged.
 * @example
 * ```ts
 * const waiver = privateKeyWaiver(await openSealedKeystore(parseKeystore(text)));
 * ```
 */
export async function openSealedKeystore(keystore: Keystore, options: KmsOptions = {}): Promise<Uint8Array> {
  const { seal } = keystore;
  if (seal === undefined) throw new KeystoreError("is not sealed");
  const name = readName(seal.key);
  const passphrase = await atStart(name, async () => {
    const key = await openKmsKey(name, options);
    const ciphertext = Buffer.from(seal.passphrase, "base64");
    return await retryThrottled(() => key.decrypt(ciphertext, contextOf(keystore)));
  });
  return await decryptKeystore(keystore, Buffer.from(passphrase).toString("hex"));
}

/** Binds the seal to the keystore, and shows in the service's audit log for which waiver it was opened. */
function contextOf({ address = "" }: Keystore): string {
  return `gas-waiver keystore of 0x${address}`;
}
