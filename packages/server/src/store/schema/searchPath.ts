import { StartError } from "../../model/errors.js";
import type { Queryable } from "../database/database.js";

/** The schema whose store names without a schema lead to. */
export const HOME = `select nspname::text from pg_namespace n join pg_class c on c.relnamespace = n.oid
  where c.oid = to_regclass('finished_range')`;

/**
 * Finds the schemas that the store's sessions look for names in, for as long as the store is open: the named one alone, or those of the
 * role's search path as they are now. A schema that is made later, or another path, leads no connection to other tables.
 * @throws {@link StartError} if another schema comes before that of the store, where the start would make a second store with nothing in
 * it: by default a schema of the role's name comes before `public`.
 */
export async function findSearchPath(db: Queryable, schema?: string): Promise<readonly string[]> {
  if (schema !== undefined) return [schema];
  const { rows } = await db.query<{ path: readonly string[]; home: string | null }>(
    `select current_schemas(false)::text[] as path,
            (${HOME}) as home`,
  );
  const { path = [], home = null } = rows[0] ?? {};
  if (home !== null && home !== path[0])
    throw new StartError(
      `the store is in the schema ${home}, and the schema ${path[0]} is before it in the search path of the database's user: name the store's schema (--schema ${home}), or drop the other one`,
    );
  return path;
}
