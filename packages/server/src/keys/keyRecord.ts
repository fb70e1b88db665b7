import { type KeyTermsJson, termsToJson } from "../model/keyTerms.js";
import type { StoredKey } from "../store/apiKeys.js";
import type { AuditEntry } from "../store/keyAudit.js";

/** Whether a key is good, by the database's clock. `not-understood`: what is set for it, so it is refused. */
export type KeyState = "active" | "disabled" | "expired" | "revoked" | "not-understood";

/** A key as operators see it: in the admin API and with `--json`. Nothing in it proves the key. */
export interface KeyRecord extends KeyTermsJson {
  readonly id: string;
  readonly env: string;
  readonly label: string;
  readonly state: KeyState;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly disabledAt?: string;
  readonly revokedAt?: string;
  /** Until when the secret before the last rotation is good as well. */
  readonly previousSecretUntil?: string;
  /** Why this version does not understand what is set for it; then nothing of that is here. */
  readonly notUnderstood?: string;
  /** Where one key with caps is shown. */
  readonly today?: KeyUse;
}

/** What a key has used of its daily caps. */
export interface KeyUse {
  readonly transactions: number;
  /** Decimal text. */
  readonly gas: string;
  /** When the day ends. */
  readonly ends: string;
}

/** A new key, or one with a new secret: the only time that its text is shown. */
export interface IssuedKey {
  readonly key: string;
  readonly record: KeyRecord;
}

export interface AuditRecord extends Omit<AuditEntry, "at"> {
  readonly at: string;
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
    createdAt: createdAt.toISOString(),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
    ...(disabledAt && { disabledAt: disabledAt.toISOString() }),
    ...(revokedAt && { revokedAt: revokedAt.toISOString() }),
    ...(previous && previous.until > now && { previousSecretUntil: previous.until.toISOString() }),
    ...(notUnderstood ? { notUnderstood: notUnderstood.why } : termsToJson(terms)),
  };
}

export function auditRecordOf({ at, ...entry }: AuditEntry): AuditRecord {
  return { ...entry, at: at.toISOString() };
}
