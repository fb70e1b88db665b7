/** The part of JSON Schema 2020-12 that the wire's definitions use: what OpenAPI 3.1 and AsyncAPI 3 both take. */
export interface Schema {
  readonly type?: Type | readonly Type[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
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
