import type { Actor, AuditAction, AuditedChanges, AuditRecord } from "../../model/keys/auditRecord.js";
import type { Queryable } from "../store.js";

/** An event that happens now. */
export interface AuditEvent {
  /** A text is the name of an actor. */
  readonly actor: Actor | string;
  readonly action: AuditAction;
  readonly keyId?: string;
  /** 20 bytes. */
  readonly waiver?: Uint8Array;
  readonly changes: AuditedChanges;
}

/**
 * Adds an entry, as the last statement of the transaction of the change: entries are committed one after the other, so
 * later statements would keep others waiting.
 */
export async function recordEvent(
  db: Queryable,
  { actor, action, keyId, waiver, changes }: AuditEvent,
): Promise<void> {
  const { name, tokenId, source } = typeof actor === "string" ? { name: actor } : (actor as Actor);
  await db.query(
    `insert into audit (actor, action, key_id, waiver, token_id, changes, source)
     values ($1, $2, $3, $4, $5, $6, coalesce($7, host(inet_client_addr())))`,
    [name, action, keyId ?? null, waiver ?? null, tokenId ?? null, JSON.stringify(changes), source ?? null],
  );
}

export interface AuditQuery {
  /** Only entries of this key. */
  readonly keyId?: string | undefined;
  /** Only entries of keys. */
  readonly ofKeys?: boolean;
  /** Only entries before this id. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Reads the audit, the newest entry first. */
export async function auditEntries(
  { pool }: { readonly pool: Queryable },
  { keyId, ofKeys = false, before, limit }: AuditQuery,
): Promise<AuditRecord[]> {
  const { rows } = await pool.query<AuditRow>(
    `${SELECT} where ($1::text is null or key_id = $1) and (not $2 or key_id is not null)
       and ($3::bigint is null or id < $3)
     order by id desc limit $4`,
    [keyId ?? null, ofKeys, before ?? null, limit],
  );
  return rows.map(recordOf);
}

/** Reads the latest entry of an action on a waiver. */
export async function lastEntryOfWaiver(
  { pool }: { readonly pool: Queryable },
  waiver: Uint8Array,
  action: AuditAction,
): Promise<AuditRecord | undefined> {
  const { rows } = await pool.query<AuditRow>(
    `${SELECT} where waiver = $1 and action = $2 order by id desc limit 1`,
    [waiver, action],
  );
  return rows[0] && recordOf(rows[0]);
}

/** Reads the entries after an id, the oldest first. No entry comes later with a lower id. */
export async function auditEntriesAfter(
  { pool }: { readonly pool: Queryable },
  after: string,
  limit: number,
): Promise<AuditRecord[]> {
  const { rows } = await pool.query<AuditRow>(`${SELECT} where id > $1 order by id limit $2`, [after, limit]);
  return rows.map(recordOf);
}

const SELECT = `select id, at, actor, action, key_id as "keyId", '0x' || encode(waiver, 'hex') as waiver,
  token_id as "tokenId", source, changes from audit`;

type AuditRow = Omit<AuditRecord, "at"> & { readonly at: Date };

/** The row, without members that are null. */
function recordOf({ at, ...row }: AuditRow): AuditRecord {
  const members = Object.entries(row).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(members), at: at.toISOString() } as unknown as AuditRecord;
}
