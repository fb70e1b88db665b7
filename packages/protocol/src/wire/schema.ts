import { define } from "../define.js";
import { isForm, type Members, type Shape } from "./shape.js";
import { type Kind, MAX_REQUEST_ID_LENGTH } from "./values.js";

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
   * Reads a value of the schema. A test holds the accepted values to the schema.
   * @throws ProtocolError or WireError if the value does not match the schema.
   */
  read(value: unknown): unknown;
  /** Writes an example as JSON text. */
  write?(example: never): string;
}

/** Defines the named schemas of one module so that bundlers can drop them, as `define` does. */
export function defineNamedSchemas<const S extends Readonly<Record<string, NamedSchema>>>(make: () => S): S {
  return make();
}

const KINDS: Readonly<Record<Kind, Schema>> = /* @__PURE__ */ define(() => ({
  text: { type: "string" },
  address: { type: "string", pattern: "^0x[0-9a-f]{40}$" },
  hash: { type: "string", pattern: "^0x[0-9a-f]{64}$" },
  txHash: {
    type: "string",
    pattern: "^0x[0-9a-f]{64}$",
    description: "The hash of the InnerTx, which the user signed (D6).",
  },
  selector: { type: "string", pattern: "^0x[0-9a-f]{8}$" },
  submissionId: { type: "string", format: "uuid", description: "The id of the submission, a UUIDv7 (D15)." },
  requestId: {
    type: ["string", "number"],
    maxLength: MAX_REQUEST_ID_LENGTH,
    description: "The client's name for the request. No other request in flight on this connection has it.",
  },
  requestName: {
    type: ["string", "number", "null"],
    maxLength: MAX_REQUEST_ID_LENGTH,
    description: "The `id` of the request that the frame belongs to; null if it has none.",
  },
  decimal: { type: "string", pattern: "^(0|[1-9][0-9]*)$" },
  time: { type: "string", format: "date-time" },
  boolean: { type: "boolean" },
  number: { type: "number" },
  count: { type: "integer", minimum: 0 },
  chainId: { type: "integer", minimum: 1 },
}));

export const ADDRESS = /* @__PURE__ */ schemaOf("address");
export const HASH = /* @__PURE__ */ schemaOf("hash");
export const DECIMAL = /* @__PURE__ */ schemaOf("decimal");

/** For each member that needs it: its description, or its whole schema where the shape cannot tell it. */
export type Notes<M> = { readonly [Name in keyof M]?: string | Schema };

/** Makes the JSON Schema of an object from its shape, and from notes on its members. */
export function objectSchema<const M extends Members>(
  members: M,
  description?: string,
  notes: Notes<M> = {},
): Schema & { readonly properties: Readonly<Record<keyof M, Schema>> } {
  const names = Object.keys(members) as (keyof M & string)[];
  const properties = names.map((name) => {
    const note = notes[name];
    return [name, typeof note === "object" ? note : schemaOf(members[name] as Shape, note)];
  });
  return {
    type: "object",
    ...(description !== undefined && { description }),
    properties: Object.fromEntries(properties),
    required: names.filter((name) => !isOptional(members[name] as Shape)),
  };
}

function isOptional(shape: Shape): boolean {
  return typeof shape === "string" ? shape.endsWith("?") : isForm(shape) && shape[0] === "optional";
}

/** Makes the JSON Schema of a shape. @throws Error for a function, of which only a note can tell the schema. */
export function schemaOf(shape: Shape, description?: string): Schema {
  const described = description === undefined ? {} : { description };
  if (typeof shape === "string") return { ...KINDS[shape.replace("?", "") as Kind], ...described };
  if (typeof shape === "function")
    throw new Error("a member with a reader of its own needs a note with its schema");
  if (!isForm(shape)) return objectSchema(shape, description);
  const [form, inner] = shape;
  if (form === "const") return { type: typeof inner as "string" | "boolean", const: inner, ...described };
  if (form === "enum") return { type: "string", enum: inner, ...described };
  if (form === "optional") return schemaOf(inner, description);
  return { type: "array", items: schemaOf(inner), ...described };
}
