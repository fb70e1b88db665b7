import type { Queryable } from "../../src/store/database/database.js";

const OWN =
  "relnamespace = current_schema()::regnamespace and not relispartition and relname <> 'migrations'";

/** One query for each kind of object, with a line for each of its objects. Partitions follow from their parent and the day. */
const QUERIES = {
  tables: `select format('%s %s %s %s %s %s', relkind, relname, relpersistence, reloptions, relacl, pg_get_partkeydef(oid))
    from pg_class where relkind in ('r', 'p', 'S') and ${OWN}`,
  columns: `select format('%s %s %s %s not null %s %s %s', relname, row_number() over (partition by relname order by attnum),
      attname, format_type(atttypid, atttypmod), attnotnull, attidentity, pg_get_expr(adbin, adrelid))
    from pg_attribute join pg_class c on c.oid = attrelid left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and not attisdropped and relkind in ('r', 'p', 'v') and ${OWN}`,
  constraints: `select format('%s %s %s', relname, conname, pg_get_constraintdef(o.oid)) from pg_constraint o
    join pg_class c on c.oid = conrelid where ${OWN}`,
  indexes: `select indexdef from pg_indexes join pg_class c on relname = tablename and relkind = 'r'
    where schemaname = current_schema() and ${OWN}`,
  views: `select format('%s %s', relname, pg_get_viewdef(oid)) from pg_class where relkind = 'v' and ${OWN}`,
  functions: `select regexp_replace(pg_get_functiondef(oid), '\\s*--[^\\n]*', '', 'g') from pg_proc
    where pronamespace = current_schema()::regnamespace`,
  triggers: `select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid
    where not tgisinternal and ${OWN}`,
  types: `select format('%s %s', typname, array_agg(enumlabel order by enumsortorder)) from pg_enum
    join pg_type t on t.oid = enumtypid where typnamespace = current_schema()::regnamespace group by typname`,
};

/** Describes all that a schema has, but its rows: two stores with equal descriptions are made alike. */
export async function describeSchema(db: Queryable): Promise<Record<string, string[]>> {
  const described: Record<string, string[]> = {};
  for (const [kind, query] of Object.entries(QUERIES)) {
    const { rows } = await db.query<{ line: string }>(
      `select line from (${query}) as found (line) order by line`,
    );
    described[kind] = rows.map(({ line }) => line);
  }
  return described;
}
