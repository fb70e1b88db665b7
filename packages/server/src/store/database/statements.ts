import { BIGINT_TYPES, type Queryable, type Statement } from "./database.js";

const names = new Map<string, string>();

/**
 * A statement that each connection plans once. Use it only for a fixed set of texts: each one stays prepared. The
 * session settings of `primary/session.ts` make such a plan use the indexes even if the tables were empty at that time.
 */
export function prepared(text: string, values: readonly unknown[]): Statement {
  const name = names.get(text) ?? `statement ${names.size + 1}`;
  names.set(text, name);
  return { name, text, values: [...values] };
}

/**
 * Reads rows as the code has them, by a statement that each connection plans once: `bigint` and `numeric` are bigints, and have to be
 * whole numbers, and null is undefined. The statement names the columns as the members of `Row`.
 */
export async function readRows<Row extends object>(
  db: Queryable,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  return await typedRows(db, prepared(text, values));
}

/** {@link readRows} of a statement that is planned each time, or by another name. */
export async function typedRows<Row extends object>(db: Queryable, statement: Statement): Promise<Row[]> {
  const { rows } = await db.query<Row>({ ...statement, types: BIGINT_TYPES });
  for (const row of rows as Record<string, unknown>[])
    for (const column in row) if (row[column] === null) row[column] = undefined;
  return rows;
}

/**
 * Writes a UUID as a literal, for a query that must name ids in its text.
 * @throws if it is not a UUID.
 */
export function uuidLiteral(id: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) throw new Error(`${id} is not a UUID`);
  return `'${id}'::uuid`;
}

const BYTEA_OID = 17;

/**
 * Encodes a `bytea[]` in PostgreSQL's binary format (array_send); undefined is null. The driver's own text format would
 * write every element as escaped hex.
 */
export function byteaArray(elements: readonly (Uint8Array | undefined)[]): Buffer {
  // An empty array has no dimensions.
  if (elements.length === 0) return Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, BYTEA_OID]);
  const size = elements.reduce((sum, element) => sum + 4 + (element?.length ?? 0), 20);
  const array = Buffer.alloc(size);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(elements.includes(undefined) ? 1 : 0, 4);
  array.writeInt32BE(BYTEA_OID, 8);
  array.writeInt32BE(elements.length, 12);
  array.writeInt32BE(1, 16);
  let offset = 20;
  for (const element of elements) {
    array.writeInt32BE(element?.length ?? -1, offset);
    offset += 4;
    if (element === undefined) continue;
    array.set(element, offset);
    offset += element.length;
  }
  return array;
}

/** Reads the database's clock. */
export async function databaseNow({ pool }: { readonly pool: Queryable }): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>("select now() as now");
  return rows[0]?.now ?? new Date(0);
}
