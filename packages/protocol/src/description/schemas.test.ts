// Holds the schemas to the functions that read and write the wire.
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { ProtocolError } from "../protocolError.js";
import * as wire from "../wire/index.js";
import type { NamedSchema, Schema } from "../wire/schema.js";
import { EXAMPLES, NAMED_SCHEMAS, SCHEMA_NAMES, SCHEMAS, type SchemaName } from "./schemas.js";

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
formats.default(ajv);
const accepts = (name: SchemaName, value: unknown) => ajv.validate(SCHEMAS[name], value);

const named = (name: SchemaName): NamedSchema => NAMED_SCHEMAS[name];

/** The schemas that each reader reads. A reader of several accepts what any of them accepts. */
const READERS = [...new Set(SCHEMA_NAMES.map((name) => named(name).read))].map(
  (read) => [SCHEMA_NAMES.filter((name) => named(name).read === read), read] as const,
);

/** The readers and writers that a definition wraps, because the schema alone does not have all that they need. */
const WRAPPED = [
  ...["parseSubmitRequest", "readParsedFrame", "parseServerFrame"],
  ...["encodeLineFrame", "encodeDoneFrame", "encodeErrorFrame"],
];

/** The readers and writers of parameters and headers, which the definitions describe as parameters of their routes. */
const NOT_JSON = ["parseSubmissionsQuery", "encodeSubmissionsQuery", "parseIdempotencyKey"];

const WRONG_VALUES = [null, true, 7.5, "\u0000", [], {}];

/** Yields the value without each of its members, and with values of another type in their place; at every depth. */
function* invalidVariantsOf(value: unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...remaining } = value as Record<string, unknown>;
    yield remaining;
    for (const wrongValue of WRONG_VALUES) {
      if (kindOf(wrongValue) !== kindOf(member)) yield { ...value, [name]: wrongValue };
    }
    for (const changed of invalidVariantsOf(member)) yield { ...value, [name]: changed };
  }
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
}

function isRead(read: (value: unknown) => unknown, value: unknown): boolean {
  try {
    read(value);
    return true;
  } catch (thrown) {
    if (thrown instanceof ProtocolError || thrown instanceof wire.WireError) return false;
    throw thrown;
  }
}

describe("the schemas", () => {
  it.each(SCHEMA_NAMES)("%s has examples that show every member", (name) => {
    for (const example of EXAMPLES[name]) {
      expect(accepts(name, example), JSON.stringify(ajv.errors)).toBe(true);
    }
    const shown = JSON.stringify(EXAMPLES[name]);
    for (const member of membersOf(SCHEMAS[name])) expect(shown).toContain(`"${member}":`);
  });

  it("cover every reader and writer of the wire", () => {
    const functions = Object.entries(wire).filter(([name]) => /^(?:parse|read|encode)[A-Z]/.test(name));
    const codecs = new Set<unknown>(SCHEMA_NAMES.flatMap((name) => [named(name).read, named(name).write]));
    const uncovered = functions.filter(([, codec]) => !codecs.has(codec)).map(([name]) => name);
    expect(uncovered.sort()).toEqual([...WRAPPED, ...NOT_JSON].sort());
  });

  it.each(READERS)("of %s agree with their reader on valid and invalid values", (names, read) => {
    for (const name of names) {
      for (const example of EXAMPLES[name]) {
        expect(isRead(read, example)).toBe(true);
        for (const changed of invalidVariantsOf(example)) {
          const expected = names.some((one) => accepts(one, changed));
          expect(isRead(read, changed), `${name}: ${JSON.stringify(changed)}`).toBe(expected);
        }
      }
    }
  });

  it.each(["ResultLine", "LineFrame"] as const)(
    "of a %s, like its reader, exclude success with an error, failure with a hash, and half of either",
    (name) => {
      const [success, failure] = EXAMPLES[name] as readonly Record<string, unknown>[];
      const { txHash, ...neither } = success ?? {};
      const impossible = [
        ...[
          { ...success, error: failure?.error },
          { ...failure, txHash },
          { ...success, success: false },
        ],
        ...[{ ...failure, success: true }, neither, { ...neither, success: false }],
      ];
      for (const value of impossible) {
        expect([accepts(name, value), isRead(named(name).read, value)], JSON.stringify(value)).toEqual([
          false,
          false,
        ]);
      }
    },
  );

  it.each(SCHEMA_NAMES.filter((name) => named(name).write !== undefined))(
    "accept the text that the writer of %s writes",
    (name) => {
      for (const example of EXAMPLES[name]) {
        const text = named(name).write?.(example as never) ?? "";
        expect(accepts(name, JSON.parse(text)), `${name}: ${text}`).toBe(true);
      }
    },
  );
});

function membersOf(schema: Schema): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, one]) => [name, ...membersOf(one)]);
  const parts = [...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])];
  return [...own, ...parts.flatMap(membersOf)];
}
