import { type KeyTermsJson, termsToJson } from "../model/keys/keyTerms.js";
import type { StoredKey } from "../store/keys/apiKeys.js";

/**
 * The state of a key by the database's clock. `not-understood`: this version refuses the key, because it cannot read the
 * key's terms.
 */
export type KeyState = "active" | "disabled" | "expired" | "revoked" | "not-understood";

/** A key as operators see it, in the admin API and with `--json`. It holds nothing secret. */
export interface KeyRecord extends KeyTermsJson {
  readonly id: string;
  readonly env: string;
  readonly label: string;
  readonly state: KeyState;
  /** Present if everybody may see the key (D32). */
  readonly publishable?: true;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly disabledAt?: string;
  readonly revokedAt?: string;
  /** The time until which the secret before the last rotation is valid. */
  readonly previousSecretUntil?: string;
  /** The reason why this version cannot read the key's terms. The terms are left out then. */
  readonly notUnderstood?: string;
  /** Present when a single key with caps is shown. */
  readonly today?: KeyUse;
}

/** A key's use of its daily caps. */
export interface KeyUse {
  readonly transactions: number;
  /** The gas as decimal text. */
  readonly gas: string;
  /** The end of the day: ISO 8601. */
  readonly ends: string;
}

/** A new key, or a key with a new secret. Its text is shown this once. */
export interface IssuedKey {
  readonly key: string;
  readonly record: KeyRecord;
}

export function stateOf(
  key: Pick<StoredKey, "revokedAt" | "disabledAt" | "expiresAt" | "notUnderstood">,
  now: Date,
): KeyState {
  if (key.revokedAt) return "revoked";
  if (key.expiresAt && key.expiresAt <= now) return "expired";
  if (key.disabledAt) return "disabled";
  return key.notUnderstood ? "not-understood" : "active";
}

export function keyRecordOf(key: StoredKey, now: Date): KeyRecord {
  const { id, env, label, createdAt, expiresAt, disabledAt, revokedAt, previous, terms, notUnderstood } = key;
  return {
    id,
    env,
    label,
    state: stateOf(key, now),
    ...(key.isPublishable && { publishable: true }),
    createdAt: createdAt.toISOString(),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
    ...(disabledAt && { disabledAt: disabledAt.toISOString() }),
    ...(revokedAt && { revokedAt: revokedAt.toISOString() }),
    ...(previous && previous.until > now && { previousSecretUntil: previous.until.toISOString() }),
    ...(notUnderstood ? { notUnderstood: notUnderstood.why } : termsToJson(terms)),
  };
}
