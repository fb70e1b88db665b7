/** The changes of keys that the audit records. */
export const KEY_ACTIONS = ["create", "update", "rotate", "disable", "enable", "revoke"] as const;
export type KeyAction = (typeof KEY_ACTIONS)[number];

/** The events that the audit records. `read-secrets`: a start or a reload has read keys and tokens. */
export const AUDIT_ACTIONS = [
  ...KEY_ACTIONS,
  "open-lane",
  "drain-lane",
  "retire-lane",
  "stop-lane",
  "repair-lane",
  "cancel-nonce",
  "rotate-waiver",
  "read-secrets",
  "failed-authentication",
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The changed values, before and after. They never include a secret or its hash. */
export type AuditedChanges = Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>>;

/** Whoever does something that the audit records. */
export interface Actor {
  /** The command line and its user, the name of an admin token, or the service itself. */
  readonly name: string;
  readonly tokenId?: string | undefined;
  /** The address of the client. Without it, the address of the program at the database. */
  readonly source?: string | undefined;
}

/** One event, as JSON. The audit keeps it for ever. */
export interface AuditRecord {
  /** A number that goes up over all entries, in the order of their commits. */
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  readonly actor: string;
  readonly action: AuditAction;
  readonly keyId?: string | undefined;
  /** The address of the lane's waiver, as hex. */
  readonly waiver?: string | undefined;
  /** The id of the admin token. */
  readonly tokenId?: string | undefined;
  /** The address that it came from. */
  readonly source?: string | undefined;
  readonly changes: AuditedChanges;
}
