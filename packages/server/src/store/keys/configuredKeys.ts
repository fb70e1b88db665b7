import { randomBytes } from "node:crypto";
import { prepared } from "../statements.js";
import type { Queryable } from "../store.js";

interface Db {
  readonly pool: Queryable;
}

/** Reads one of the store's secrets, 32 bytes. The first caller makes it. */
export async function storeSecret({ pool }: Db, name: string): Promise<Buffer> {
  await pool.query("insert into store_secrets (name, value) values ($1, $2) on conflict do nothing", [
    name,
    randomBytes(32),
  ]);
  const { rows } = await pool.query<{ value: Buffer }>("select value from store_secrets where name = $1", [
    name,
  ]);
  if (rows[0] === undefined) throw new Error(`the store has lost its secret ${name}`);
  return rows[0].value;
}

/** Finds the id of a configured key. */
export async function findConfiguredKey({ pool }: Db, fingerprint: Buffer): Promise<string | undefined> {
  const { rows } = await pool.query<{ key_id: string }>(
    "select key_id from configured_keys where fingerprint = $1",
    [fingerprint],
  );
  return rows[0]?.key_id;
}

/** Stores the id of a configured key. Returns the id that it has, which another replica may have stored before. */
export async function addConfiguredKey(db: Db, fingerprint: Buffer, keyId: string): Promise<string> {
  await db.pool.query(
    "insert into configured_keys (fingerprint, key_id) values ($1, $2) on conflict (fingerprint) do nothing",
    [fingerprint, keyId],
  );
  return (await findConfiguredKey(db, fingerprint)) ?? keyId;
}

/** True if a submission, a right to read one, a request with an Idempotency-Key, or a token bucket has the key's id. */
export async function isKeyIdInUse({ pool }: Db, keyId: string): Promise<boolean> {
  const { rows } = await pool.query<{ used: boolean }>(
    prepared(
      `select exists (select from unfinished where key_id = $1)
           or exists (select from chains c, lateral (
                select from finished f where f.chain = c.id and f.key_id = $1 limit 1) f)
           or exists (select from chains c, lateral (
                select from keyed_requests r where r.chain = c.id and r.key_id = $1 limit 1) r)
           or exists (select from key_rates where key_id = $1)
           or exists (select from readers where key_id = $1) as used`,
      [keyId],
    ),
  );
  return rows[0]?.used === true;
}
