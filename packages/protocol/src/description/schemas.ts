import errorBody from "../wire/errorBody.js";
import routes, { type RouteName } from "../wire/routes/index.js";
import type { NamedSchema, Schema } from "../wire/schema.js";

type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  member: infer Member,
) => void
  ? Member
  : never;

type SchemasOfRoutes = Intersection<(typeof routes)[RouteName]["schemas"]>;

/** Every schema that a route or an error uses, by its name, with its examples and its codec. */
export const NAMED_SCHEMAS: SchemasOfRoutes & typeof errorBody = Object.assign(
  {},
  ...Object.values(routes).map(({ schemas }) => schemas),
  errorBody,
);

export type SchemaName = keyof typeof NAMED_SCHEMAS;

export const SCHEMA_NAMES = Object.keys(NAMED_SCHEMAS) as readonly SchemaName[];

/** The schemas by their names in OpenAPI, AsyncAPI and the reference. */
export const SCHEMAS = mapSchemas(({ schema }) => schema) as {
  readonly [Name in SchemaName]: (typeof NAMED_SCHEMAS)[Name]["schema"];
};

/** The examples of each schema. Together they show every member. */
export const EXAMPLES = mapSchemas(({ examples }) => examples);

function mapSchemas<Part>(pick: (named: NamedSchema) => Part): Readonly<Record<SchemaName, Part>> {
  const entries = SCHEMA_NAMES.map((name) => [name, pick(NAMED_SCHEMAS[name])]);
  return Object.fromEntries(entries);
}

const NAMES = new Map<Schema, SchemaName>(SCHEMA_NAMES.map((name) => [SCHEMAS[name], name]));

/**
 * Returns the name of a schema that has one.
 * @example
 * ```ts
 * nameOf(SCHEMAS.Health); // "Health"
 * ```
 */
export function nameOf(schema: Schema): SchemaName | undefined {
  return NAMES.get(schema);
}

/**
 * Returns the name of a schema that must have one.
 * @throws Error if it has none.
 * @example
 * ```ts
 * for (const { schema } of Object.values(FRAMES)) console.log(schemaNameOf(schema));
 * ```
 */
export function schemaNameOf(schema: Schema): SchemaName {
  const name = nameOf(schema);
  if (name === undefined) throw new Error(`the schema has no name: ${JSON.stringify(schema)}`);
  return name;
}

/**
 * Returns the examples of a schema that must have a name.
 * @throws Error if it has none.
 * @example
 * ```ts
 * examplesOf(SCHEMAS.Wait); // ["broadcast", "included"]
 * ```
 */
export function examplesOf(schema: Schema): readonly unknown[] {
  return EXAMPLES[schemaNameOf(schema)];
}

/** Returns the schema with references in place of the named schemas, itself included. */
export function withReferences(schema: Schema): unknown {
  const name = nameOf(schema);
  return name === undefined ? membersWithReferences(schema) : { $ref: `#/components/schemas/${name}` };
}

/** Returns every named schema, with references in place of the others inside it. */
export function schemaComponents(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(SCHEMAS).map(([name, schema]) => [name, membersWithReferences(schema)]),
  );
}

function membersWithReferences(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withReferences);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withReferences(member)]));
}
