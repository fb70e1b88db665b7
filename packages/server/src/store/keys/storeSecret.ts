import { randomBytes } from "node:crypto";
import type { Queryable } from "../store.js";

/** Reads one of the store's secrets, 32 bytes. The first caller makes it. */
export async function storeSecret({ pool }: { readonly pool: Queryable }, name: string): Promise<Buffer> {
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
