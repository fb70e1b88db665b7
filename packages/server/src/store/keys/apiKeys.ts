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
import { readRows } from "../database/statements.js";
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

/** The columns of a key, named as {@link KeyRow} has them. */
const COLUMNS = `id, env, label, secret_hash as hash, previous_hash as "previousHash", previous_until as "previousUntil",
  created_at as "createdAt", expires_at as "expiresAt", disabled_at as "disabledAt", revoked_at as "revokedAt", terms, version`;

type KeyRow = Omit<StoredKey, "isPublishable" | "previous" | "terms" | "notUnderstood"> & {
  readonly previousHash: Uint8Array | undefined;
  readonly previousUntil: Date | undefined;
  readonly terms: KeyTermsJson;
};

/** Does not throw for terms that are not understood: such a key must not hide the changes of others. */
function keyOf({ previousHash: hash, previousUntil: until, terms, ...key }: KeyRow): StoredKey {
  return {
    ...key,
    // Versions that do not know publishable keys do not understand terms with origins, and so refuse such keys.
    isPublishable: terms.origins !== undefined,
    previous: hash && until ? { hash, until } : undefined,
    ...termsOf(terms),
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
  const rows = await readRows<{ now: Date; newest: bigint; id?: string }>(
    pool,
    `select clock_timestamp() as now, (select coalesce(max(version), 0) from api_keys) as newest, k.*
     from (select) one left join (select ${COLUMNS} from api_keys) k on k.version > $1 order by k.version`,
    [version],
  );
  const { now = new Date(0), newest = 0n } = rows[0] ?? {};
  const keys = rows.flatMap(({ now: _, newest: __, ...row }) =>
    row.id === undefined ? [] : [keyOf(row as KeyRow)],
  );
  return { now, newest, keys };
}

/** Lists keys in the order of their creation, starting after the key `after`. */
export async function listKeys(
  { pool }: Pick<Store, "pool">,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<StoredKey[]> {
  const rows = await readRows<KeyRow>(
    pool,
    `select ${COLUMNS} from api_keys
     where $1::text is null or (created_at, id) > (select created_at, id from api_keys where id = $1)
     order by created_at, id limit $2`,
    [after, limit],
  );
  return rows.map(keyOf);
}

/** Finds a key by its id. */
export async function findKey(
  { pool }: { readonly pool: Queryable },
  id: string,
): Promise<StoredKey | undefined> {
  const [row] = await readRows<KeyRow>(pool, `select ${COLUMNS} from api_keys where id = $1`, [id]);
  return row && keyOf(row);
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
export function insertKey(
  db: Queryable,
  key: Pick<StoredKey, "id" | "env"> & KeyColumns,
): Promise<StoredKey> {
  return writeKey(
    db,
    `insert into api_keys (id, env, label, secret_hash, previous_hash, previous_until, expires_at, disabled_at,
                           revoked_at, terms, version)
     select $1, $10, $2, $3, $4, $5, $6, $7, $8, $9, coalesce(max(version), 0) + 1 from api_keys`,
    [key.id, ...parametersOf(key), key.env],
  );
}

/** Updates a key, within {@link inKeyTransaction}. */
export function updateKey(db: Queryable, id: string, columns: KeyColumns): Promise<StoredKey> {
  return writeKey(
    db,
    `update api_keys set label = $2, secret_hash = $3, previous_hash = $4, previous_until = $5, expires_at = $6,
       disabled_at = $7, revoked_at = $8, terms = $9, version = (select max(version) + 1 from api_keys)
     where id = $1`,
    [id, ...parametersOf(columns)],
  );
}

async function writeKey(db: Queryable, statement: string, values: readonly unknown[]): Promise<StoredKey> {
  const [row] = await readRows<KeyRow>(db, `${statement} returning ${COLUMNS}`, values);
  if (row === undefined) throw new Error("the database returned no row for the key");
  return keyOf(row);
}

function parametersOf({ label, hash, previous, terms, notUnderstood, ...states }: KeyColumns) {
  const { expiresAt, disabledAt, revokedAt } = states;
  const stored = JSON.stringify(notUnderstood?.terms ?? termsToJson(terms));
  return [label, hash, previous?.hash, previous?.until, expiresAt, disabledAt, revokedAt, stored];
}
