import { createHash, randomBytes } from "node:crypto";
import { PUBLISHABLE_PREFIX } from "@gas-waiver/protocol";

// An API key is `gw_<env>_<key id>_<secret>` (D25), a publishable one `gwp_<env>_<key id>_<secret>` (D32). The id is not
// secret: records, logs and the audit name the key by it.

/** The env tells people and secret scanners where a key is used. The service does not evaluate it. */
export const ENV_PATTERN = /^[a-z0-9]{1,16}$/;
export const KEY_ID_PATTERN = /^[0-9a-f]{16}$/;
const KEY_PATTERN = /^gwp?_[a-z0-9]{1,16}_([0-9a-f]{16})_[0-9a-f]{48}$/;

const KEY_ID_BYTES = 8;
/** 192 random bits cannot be guessed. */
const SECRET_BYTES = 24;

export function newKeyId(): string {
  return randomBytes(KEY_ID_BYTES).toString("hex");
}

/** @returns the text of a key with a new secret. It is shown once and stored nowhere. */
export function newKey(env: string, keyId: string, isPublishable: boolean): string {
  const prefix = isPublishable ? PUBLISHABLE_PREFIX : "gw_";
  return `${prefix}${env}_${keyId}_${randomBytes(SECRET_BYTES).toString("hex")}`;
}

/** @returns the id in a text that has the form of a key. */
export function keyIdIn(text: string): string | undefined {
  return KEY_PATTERN.exec(text)?.[1];
}

/**
 * Hashes a key for the store. The secret is long and random, so plain SHA-256 is enough: a slow or salted hash protects
 * secrets that can be guessed, and would slow down every request.
 * @returns 32 bytes.
 */
export function hashOfKey(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
