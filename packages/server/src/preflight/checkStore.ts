import type { Connection } from "../store/database/database.js";
import { readSchemaFiles } from "../store/schema/migrate.js";
import { HOME } from "../store/schema/searchPath.js";
import { type DatabaseFinding, ok, refuses } from "./finding.js";

/** A store that a service would open in a database. */
export interface ExpectedStore {
  /** The schema of its tables; by default the first one of the role's search path. */
  readonly schema?: string;
  /** The chain of its service; undefined if any will do. */
  readonly chainId?: number;
}

interface SchemaRow {
  readonly schema: string | null;
  readonly exists: boolean;
  /** Whether the role may make the schema that is not there. */
  readonly mayMake: boolean;
  readonly mayCreate: boolean | null;
  readonly hasStore: boolean;
  readonly ownsStore: boolean | null;
  /** The schema whose store the role's search path leads to. */
  readonly home: string | null;
}

const SCHEMA = `
  select name as schema, n.oid is not null as exists,
         has_database_privilege(current_database(), 'CREATE') as "mayMake",
         has_schema_privilege(n.oid, 'CREATE') as "mayCreate",
         c.oid is not null as "hasStore", pg_has_role(c.relowner, 'USAGE') as "ownsStore", (${HOME}) as home
    from (select coalesce($1::text, current_schema()) as name) as expected
    left join pg_namespace n on n.nspname = name
    left join pg_class c on c.relnamespace = n.oid and c.relname = 'migrations'`;

/** Checks the schema of a store, its number and chain, and the role's rights on it, by reads alone. */
export async function checkStore(
  connection: Connection,
  { schema: given, chainId }: ExpectedStore,
): Promise<DatabaseFinding[]> {
  const { rows } = await connection.query<SchemaRow>(SCHEMA, [given ?? null]);
  const [row] = rows;
  if (row === undefined) throw new Error("the database did not describe its schemas");
  const { schema, home } = row;
  if (given === undefined && home !== null && home !== schema) {
    const found = `the store is in the schema ${home}, and ${schema} is before it in the role's search path`;
    const remedy = `name the store's schema (--schema ${home}), or drop the other one`;
    return [refuses("schema", { found, means: "the start would make a second store", remedy })];
  }
  const rights = checkRights(row);
  const findings =
    rights.verdict === "ok" ? [...(await readStore(connection, row, chainId)), rights] : [rights];
  return findings.map((finding) => (given === undefined ? finding : { ...finding, schema: given }));
}

function checkRights(row: SchemaRow): DatabaseFinding {
  const { schema, exists, mayMake, mayCreate, hasStore, ownsStore } = row;
  const means = "the store cannot be made or brought up to date";
  const refuse = (found: string, remedy: string) => refuses("rights" as const, { found, means, remedy });
  const own = "let the service's role own its schema and tables";
  if (schema === null) return refuse("no schema of the role's search path is there", own);
  if (!exists && !mayMake) {
    const remedy = `make it (create schema ${schema} authorization …), or grant create on the database`;
    return refuse(`there is no schema ${schema}, and the role may make none`, remedy);
  }
  if (exists && !mayCreate) return refuse(`the role may make no tables in the schema ${schema}`, own);
  if (hasStore && !ownsStore) return refuse("the tables of the store belong to another role", own);
  const found = exists
    ? `the role may make tables in the schema ${schema}`
    : `the role may make the schema ${schema}`;
  return ok("rights", found);
}

async function readStore(
  connection: Connection,
  { schema, hasStore }: SchemaRow,
  chainId: number | undefined,
): Promise<DatabaseFinding[]> {
  if (!hasStore) return [ok("schema", "there is no store yet; the start makes it")];
  const inSchema = `"${(schema ?? "").replaceAll('"', '""')}"`;
  const { rows } = await connection.query<{ number: number; hasChains: boolean }>(
    `select coalesce(max(number), 0) as number, to_regclass('${inSchema}.chains') is not null as "hasChains"
       from ${inSchema}.migrations`,
  );
  const { number = 0, hasChains = false } = rows[0] ?? {};
  const finding = await checkNumber(number);
  if (finding.verdict !== "ok" || !hasChains || chainId === undefined) return [finding];
  const { rows: chains } = await connection.query<{ chain: string }>(
    `select chain_id as chain from ${inSchema}.chains order by id desc limit 1`,
  );
  const known = chains[0]?.chain;
  if (known === undefined || Number(known) === chainId) return [finding];
  return [otherChain(known, chainId)];
}

async function checkNumber(number: number): Promise<DatabaseFinding> {
  const { number: newest } = await readSchemaFiles();
  if (number === newest) return ok("schema", `number ${number}, as this program`);
  if (number < newest) return ok("schema", `number ${number}; the start brings it to ${newest}`);
  return refuses("schema", {
    found: `number ${number}; this program knows ${newest}`,
    means: "a newer program has changed the store",
    remedy: "use that program, or a newer one",
  });
}

function otherChain(known: string, chainId: number): DatabaseFinding {
  return refuses("schema", {
    found: `the store belongs to chain ${known}, the service is for chain ${chainId}`,
    means: "a store has the submissions of one chain",
    remedy: "name another database or schema, or the chain of this one",
  });
}
