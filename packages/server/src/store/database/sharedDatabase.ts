import { createHash } from "node:crypto";
import type { Pool } from "./database.js";

// Several stores may be in one database, each in a schema of its own. Advisory locks and channels are of the whole database,
// so their names follow from the schema.

/** The schema of a store whose schema is not named, unless the role has another search path. */
const USUAL_SCHEMA = "public";

/** Returns the schema of a store that may have neighbours in its database. */
function namedSchema({ schema }: Pick<Pool, "schema">): string | undefined {
  return schema === USUAL_SCHEMA ? undefined : schema;
}

/** Returns the key of a store's advisory lock: stores in other schemas do not wait for it. */
export function advisoryLock(pool: Pick<Pool, "schema">, lock: number): string {
  const schema = namedSchema(pool);
  if (schema === undefined) return String(lock);
  const space = createHash("sha256").update(schema).digest().readInt32BE() | 1;
  return String((BigInt(space) << 32n) | BigInt(lock));
}

/**
 * Returns the name of a store's channel for notifications. PostgreSQL takes 63 bytes, so with the longest schema a channel has
 * 15 of its own.
 */
export function channelName(pool: Pick<Pool, "schema">, channel: string): string {
  const schema = namedSchema(pool);
  return schema === undefined ? channel : `${channel}_${schema}`;
}
