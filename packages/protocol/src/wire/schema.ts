/** The part of JSON Schema 2020-12 that the wire's definitions use. OpenAPI 3.1 and AsyncAPI 3 both accept it. */
export interface Schema {
  readonly type?: Type | readonly Type[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** True where members of other names belong to the value, and not only to newer versions. */
  readonly additionalProperties?: true;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly examples?: readonly unknown[];
}

type Type = "object" | "array" | "string" | "integer" | "number" | "boolean" | "null";

/** A schema that the descriptions name, with values of it and the codec that it must agree with. */
export interface NamedSchema {
  readonly schema: Schema;
  /** Values of the schema that together contain each of its members. */
  readonly examples: readonly unknown[];
  /**
   * Reads a value of the schema. A test holds the result type and the accepted values to the schema.
   * @throws ProtocolError or WireError if the value does not match the schema.
   */
  read(value: unknown): unknown;
  /** Writes an example as JSON text. */
  write?(example: never): string;
}

/** Defines a schema so that bundlers can drop it, as `define` does. The result keeps the literal types that `json-schema-to-ts` reads. */
export function defineSchema<const S extends Schema>(make: () => S): S {
  return make();
}

/** Defines the named schemas of one module so that bundlers can drop them, as `define` does. */
export function defineNamedSchemas<const S extends Readonly<Record<string, NamedSchema>>>(make: () => S): S {
  return make();
}
