import { ProtocolError } from "@gas-waiver/protocol";
import {
  type KeyTerms,
  type KeyTermsJson,
  PERMITS_NOTHING,
  parseTerms,
  termsToJson,
} from "../../model/keys/keyTerms.js";
import type { Pool } from "../database/database.js";
import { notify } from "../database/notifications.js";
import { channelName } from "../database/sharedDatabase.js";
import { inLockedTransaction } from "../database/transaction.js";
import type { Queryable, Store } from "../store.js";

/** An API key as stored. Times are by the database's clock. */
export interface StoredKey {
  readonly id: string;
  readonly env: string;
  readonly label: string;
  /** Whether everybody may see the key (D32). It stays so for good. */
  readonly isPublishable: boolean;
  /** SHA-256 of the key as its user writes it. */
  readonly hash: Uint8Array;
  /** The hash of the key before the last rotation, and until when that key is accepted. */
  readonly previous: { readonly hash: Uint8Array; readonly until: Date } | undefined;
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly disabledAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  /** The key's permissions. If the stored terms are not understood, it permits nothing. */
  readonly terms: KeyTerms;
  /** The stored terms that this version does not understand, such as those of a newer version. They are kept as they are. */
  readonly notUnderstood: { readonly terms: unknown; readonly why: string } | undefined;
  /** The number of its last change, counted over all keys. */
  readonly version: bigint;
}

/** The columns that a change of a key may set. */
export type KeyColumns = Omit<StoredKey, "id" | "env" | "isPublishable" | "createdAt" | "version">;

interface KeyRow {
  id: string;
  env: string;
  label: string;
  secret_hash: Buffer;
  previous_hash: Buffer | null;
  previous_until: Date | null;
  created_at: Date;
  expires_at: Date | null;
  disabled_at: Date | null;
  revoked_at: Date | null;
  terms: KeyTermsJson;
  version: string;
}

/** Does not throw for terms that are not understood: such a key must not hide the changes of others. */
function keyOf(row: KeyRow): StoredKey {
  const { previous_hash: hash, previous_until: until } = row;
  return {
    id: row.id,
    env: row.env,
    label: row.label,
    // Versions that do not know publishable keys do not understand terms with origins, and so refuse such keys.
    isPublishable: row.terms.origins !== undefined,
    hash: row.secret_hash,
    previous: hash && until ? { hash, until } : undefined,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    disabledAt: row.disabled_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    ...termsOf(row.terms),
    version: BigInt(row.version),
  };
}

function termsOf(stored: unknown): Pick<StoredKey, "terms" | "notUnderstood"> {
  try {
    return { terms: parseTerms(stored), notUnderstood: undefined };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { terms: PERMITS_NOTHING, notUnderstood: { terms: stored, why: error.message } };
  }
}

/** Reads the keys that changed after a version in the order of their changes, the newest version, and the database's clock. */
export async function findKeysChangedSince(
  { pool }: Pick<Store, "pool">,
  version: bigint,
): Promise<{ readonly now: Date; readonly newest: bigint; readonly keys: readonly StoredKey[] }> {
  const { rows } = await pool.query<{ now: Date; newest: string } & Partial<KeyRow>>(
    `select clock_timestamp() as now, (select coalesce(max(version), 0) from api_keys) as newest, k.*
     from (select) one left join api_keys k on k.version > $1 order by k.version`,
    [version],
  );
  const keys = rows.flatMap((row) => (typeof row.id === "string" ? [keyOf(row as KeyRow)] : []));
  const { now = new Date(0), newest = 0 } = rows[0] ?? {};
  return { now, newest: BigInt(newest), keys };
}

/** Lists keys in the order of their creation, starting after the key `after`. */
export async function listKeys(
  { pool }: Pick<Store, "pool">,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<StoredKey[]> {
  const { rows } = await pool.query<KeyRow>(
    `select * from api_keys
     where $1::text is null or (created_at, id) > (select created_at, id from api_keys where id = $1)
     order by created_at, id limit $2`,
    [after ?? null, limit],
  );
  return rows.map(keyOf);
}

/** Finds a key by its id. */
export async function findKey(
  { pool }: { readonly pool: Queryable },
  id: string,
): Promise<StoredKey | undefined> {
  const { rows } = await pool.query<KeyRow>("select * from api_keys where id = $1", [id]);
  return rows[0] && keyOf(rows[0]);
}

/** The channel that notifies every replica of changed keys. */
export const keysChannel = (pool: Pick<Pool, "schema">) => channelName(pool, "gas_waiver_keys");

/** The advisory lock that lets one session at a time change keys. */
const KEYS_LOCK = 0x6761_736b;

/**
 * Runs a change of keys in a transaction, one change at a time, and notifies every replica of it. The transaction notifies nobody: it
 * would fail where PostgreSQL's queue of notifications is full, which any session of the server that listens and does not end its
 * transaction brings about. Replicas also poll.
 */
export async function inKeyTransaction<T>(
  { pool }: Pick<Store, "pool">,
  change: (db: Queryable, now: Date) => Promise<T>,
): Promise<T> {
  const result = await inLockedTransaction({ pool }, KEYS_LOCK, async (db) => {
    const { rows } = await db.query<{ now: Date }>("select clock_timestamp() as now");
    return await change(db, rows[0]?.now ?? new Date());
  });
  await notify({ pool }, keysChannel(pool), [""]).catch(() => {});
  return result;
}

/** Inserts a key, within {@link inKeyTransaction}. */
export async function insertKey(
  db: Queryable,
  key: Pick<StoredKey, "id" | "env"> & KeyColumns,
): Promise<StoredKey> {
  const { rows } = await db.query<KeyRow>(
    `insert into api_keys (id, env, label, secret_hash, previous_hash, previous_until, expires_at, disabled_at,
                           revoked_at, terms, version)
     select $1, $10, $2, $3, $4, $5, $6, $7, $8, $9, coalesce(max(version), 0) + 1 from api_keys returning *`,
    [key.id, ...parametersOf(key), key.env],
  );
  return singleKeyOf(rows);
}

/** Updates a key, within {@link inKeyTransaction}. */
export async function updateKey(db: Queryable, id: string, columns: KeyColumns): Promise<StoredKey> {
  const { rows } = await db.query<KeyRow>(
    `update api_keys set label = $2, secret_hash = $3, previous_hash = $4, previous_until = $5, expires_at = $6,
       disabled_at = $7, revoked_at = $8, terms = $9, version = (select max(version) + 1 from api_keys)
     where id = $1 returning *`,
    [id, ...parametersOf(columns)],
  );
  return singleKeyOf(rows);
}

function parametersOf({ label, hash, previous, terms, notUnderstood, ...states }: KeyColumns) {
  const { expiresAt, disabledAt, revokedAt } = states;
  const before = [previous?.hash ?? null, previous?.until ?? null];
  const times = [expiresAt ?? null, disabledAt ?? null, revokedAt ?? null];
  return [label, hash, ...before, ...times, JSON.stringify(notUnderstood?.terms ?? termsToJson(terms))];
}

function singleKeyOf(rows: readonly KeyRow[]): StoredKey {
  if (rows[0] === undefined) throw new Error("the database returned no row for the key");
  return keyOf(rows[0]);
}
