import type { Queryable } from "../store.js";

export const KEY_ACTIONS = ["create", "update", "rotate", "disable", "enable", "revoke"] as const;
export type KeyAction = (typeof KEY_ACTIONS)[number];

/** The changed values, before and after. They never include a secret or its hash. */
export type KeyChanges = Readonly<Record<string, { readonly from?: unknown; readonly to?: unknown }>>;

/** One change of an API key. The audit keeps it for ever. */
export interface AuditEntry {
  /** A number that goes up over all keys. */
  readonly id: string;
  readonly at: Date;
  /** The command line and its user, or the name of an admin token. */
  readonly actor: string;
  readonly action: KeyAction;
  readonly keyId: string;
  readonly changes: KeyChanges;
}

/** Adds an entry, within the transaction of the change. */
export async function recordChange(
  db: Queryable,
  { actor, action, keyId, changes }: Omit<AuditEntry, "id" | "at">,
): Promise<void> {
  await db.query("insert into key_audit (actor, action, key_id, changes) values ($1, $2, $3, $4)", [
    actor,
    action,
    keyId,
    JSON.stringify(changes),
  ]);
}

export interface AuditQuery {
  readonly keyId?: string | undefined;
  /** Only entries before this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Reads the audit, the newest entry first. */
export async function auditEntries(
  { pool }: { readonly pool: Queryable },
  { keyId, before, limit }: AuditQuery,
): Promise<AuditEntry[]> {
  const { rows } = await pool.query<Omit<AuditEntry, "keyId"> & { key_id: string }>(
    `select id, at, actor, action, key_id, changes from key_audit
     where ($1::text is null or key_id = $1) and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [keyId ?? null, before ?? null, limit],
  );
  return rows.map(({ key_id, ...entry }) => ({ ...entry, keyId: key_id }));
}
