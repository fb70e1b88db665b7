import type { Agent } from "node:https";

/** One key of a key management service, as the custody uses it. Its methods throw errors whose message says why, for a person. */
export interface KmsKey {
  /** Returns the uncompressed point of a key that signs, 64 bytes. */
  readPublicKey(): Promise<Uint8Array>;
  /** Signs a 32-byte hash as it is. Returns r and s, 64 bytes; s may be high. */
  sign(hash: Uint8Array): Promise<Uint8Array>;
  /**
   * Encrypts a short secret with a key that encrypts.
   * @param context a public text without which it cannot be decrypted, in the services that have such a thing.
   */
  encrypt(secret: Uint8Array, context: string): Promise<EncryptedSecret>;
  decrypt(ciphertext: Uint8Array, context: string): Promise<Uint8Array>;
}

export interface EncryptedSecret {
  readonly ciphertext: Uint8Array;
  /**
   * The name of the key that decrypts the ciphertext, with a version where the service does not find the version by itself.
   */
  readonly key: string;
}

export interface KmsOptions {
  /** The time that an answer may take. Default: 10 s. */
  readonly timeoutMs?: number;
  /** The address of the service, such as that of a private endpoint. Default: the cloud's own. Azure's keys name theirs. */
  readonly endpoint?: string;
  /** Makes the connections to Azure: for an issuer of certificates that Node does not know. */
  readonly agent?: Agent;
}

/** The most connections to one service at once. HTTP/1.1 carries one signature at a time on each. */
export const MAX_SOCKETS = 256;

/** The bytes of an answer, which some services encode in base64. */
export function given(bytes: Uint8Array | string | null | undefined): Uint8Array {
  if (bytes === null || bytes === undefined)
    throw new Error("the service answered without the bytes that were asked for");
  return typeof bytes === "string" ? Buffer.from(bytes, "base64") : bytes;
}
