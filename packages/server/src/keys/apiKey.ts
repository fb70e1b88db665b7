import { createHash, randomBytes } from "node:crypto";

// An API key is `gw_<env>_<key id>_<secret>` (D25). The id is no secret: records, logs and the audit name the key by it.

/** Where a key is meant to be used, for people and for scanners of leaked secrets: it changes nothing. */
export const ENV_PATTERN = /^[a-z0-9]{1,16}$/;
export const KEY_ID_PATTERN = /^[0-9a-f]{16}$/;
const KEY_PATTERN = /^gw_[a-z0-9]{1,16}_([0-9a-f]{16})_[0-9a-f]{48}$/;

const KEY_ID_BYTES = 8;
/** 192 bits: nobody finds it by trying. */
const SECRET_BYTES = 24;

export function newKeyId(): string {
  return randomBytes(KEY_ID_BYTES).toString("hex");
}

/** The text of a key with a new secret. It is shown once, and kept nowhere. */
export function newKey(env: string, keyId: string): string {
  return `gw_${env}_${keyId}_${randomBytes(SECRET_BYTES).toString("hex")}`;
}

/** The id of what has the form of a key. */
export function keyIdIn(text: string): string | undefined {
  return KEY_PATTERN.exec(text)?.[1];
}

/**
 * What is kept of a key: 32 bytes. A plain SHA-256, because the secret is long and random: a slow or salted hash makes
 * guessing dear, and here is nothing to guess; it would only make every request dear.
 */
export function hashOfKey(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
