import { SCHEMAS, type Schema, type SchemaName } from "../wire/schema/index.js";

const NAMES = new Map<unknown, SchemaName>(
  (Object.keys(SCHEMAS) as SchemaName[]).map((name) => [SCHEMAS[name], name]),
);

/** The name of a schema that has one. */
export function nameOf(schema: Schema): SchemaName | undefined {
  return NAMES.get(schema);
}

/** The schema with references in the place of those that have a name. */
export function referring(schema: Schema): unknown {
  const name = nameOf(schema);
  return name === undefined ? inside(schema) : { $ref: `#/components/schemas/${name}` };
}

/** Every named schema, with references to the others inside. */
export function namedSchemas(): Record<string, unknown> {
  return Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, inside(schema)]));
}

function inside(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(referring);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, referring(member)]));
}
