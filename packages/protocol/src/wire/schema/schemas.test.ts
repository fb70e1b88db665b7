// Holds the schemas to the types, and to the functions that read and write the wire.
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { FromSchema } from "json-schema-to-ts";
import { describe, expect, it } from "vitest";
import { EXAMPLES } from "../../description/examples.js";
import { ProtocolError } from "../../protocolError.js";
import type { LineCode } from "../../reasons.js";
import * as wire from "../index.js";
import { SCHEMAS, type Schema, type SchemaName } from "./index.js";

/** What both say of a value: no index signatures, no tuples, nothing mutable, any reason as any text. */
type Plain<T> = T extends readonly (infer Element)[]
  ? readonly Plain<Element>[]
  : T extends string
    ? string extends T
      ? string
      : T
    : T extends object
      ? { readonly [Name in keyof T as string extends Name ? never : Name]: Plain<T[Name]> }
      : T;
type Same<A, B> =
  (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;
type Of<Name extends SchemaName> = FromSchema<(typeof SCHEMAS)[Name]>;
type FrameOf<Kind, Rest> = Rest extends { readonly kind: Kind } ? Omit<Rest, "kind"> : never;

/** The compiler refuses this where a type and its schema differ. A new definition belongs here. */
const TYPES_AGREE: { readonly [Name in SchemaName]: true } = {
  SubmitRequest: true satisfies Same<Of<"SubmitRequest">, wire.SubmitRequest>,
  Wait: true satisfies Same<Of<"Wait">, wire.Wait>,
  ResultLine: true satisfies Same<Of<"ResultLine">, wire.ResultLine>,
  CheckLine: true satisfies Same<Of<"CheckLine">, wire.CheckLine>,
  Simulate: true satisfies Same<Of<"Simulate">, wire.Simulate>,
  KeyPolicy: true satisfies Same<Of<"KeyPolicy">, wire.KeyPolicy>,
  SubmissionRecord: true satisfies Same<Of<"SubmissionRecord">, wire.SubmissionRecord>,
  SubmissionPage: true satisfies Same<Of<"SubmissionPage">, wire.SubmissionPage>,
  Health: true satisfies Same<Of<"Health">, wire.Health>,
  Readiness: true satisfies Same<Of<"Readiness">, wire.Readiness>,
  Error: true satisfies Same<Of<"Error">, wire.ErrorBody>,
  LineError: true satisfies Same<Of<"LineError">, wire.ErrorBody<LineCode>>,
  RequestError: true satisfies Same<Of<"RequestError">, wire.RequestErrorBody>,
  SubmitFrame: true satisfies Same<Of<"SubmitFrame">, wire.SubmitFrame>,
  WatchFrame: true satisfies Same<Of<"WatchFrame">, wire.WatchFrame>,
  LineFrame: true satisfies Same<Of<"LineFrame">, { request: wire.RequestId } & wire.ResultLine>,
  DoneFrame: true satisfies Same<Of<"DoneFrame">, FrameOf<"done", wire.ServerFrame> & { done: true }>,
  ErrorFrame: true satisfies Same<Of<"ErrorFrame">, FrameOf<"error", wire.ServerFrame>>,
};

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
formats.default(ajv);
const accepts = (name: SchemaName, value: unknown) => ajv.validate(SCHEMAS[name], value);

/** The definitions that a function of the wire reads. Texts are what frames come as. */
const READERS: Readonly<Record<string, { of: readonly SchemaName[]; read(value: unknown): unknown }>> = {
  parseSubmitRequest: { of: ["SubmitRequest"], read: (value) => wire.parseSubmitRequest(value, 100) },
  parseWait: { of: ["Wait"], read: wire.parseWait },
  parseResultLine: { of: ["ResultLine"], read: wire.parseResultLine },
  parseCheckLine: { of: ["CheckLine"], read: wire.parseCheckLine },
  parseSimulate: { of: ["Simulate"], read: wire.parseSimulate },
  parseKeyPolicy: { of: ["KeyPolicy"], read: wire.parseKeyPolicy },
  parseSubmissionRecord: { of: ["SubmissionRecord"], read: wire.parseSubmissionRecord },
  parseSubmissionPage: { of: ["SubmissionPage"], read: wire.parseSubmissionPage },
  parseHealth: { of: ["Health"], read: wire.parseHealth },
  parseReadiness: { of: ["Readiness"], read: wire.parseReadiness },
  parseErrorBody: { of: ["Error", "LineError"], read: wire.parseErrorBody },
  parseRequestErrorBody: { of: ["RequestError"], read: wire.parseRequestErrorBody },
  readClientFrame: {
    of: ["SubmitFrame", "WatchFrame"],
    read: (value) => wire.readClientFrame(JSON.stringify(value)).parse(100),
  },
  parseServerFrame: {
    of: ["LineFrame", "DoneFrame", "ErrorFrame"],
    read: (value) => wire.parseServerFrame(JSON.stringify(value)),
  },
};

/** What the functions that write make of the wire's types. */
const ID = "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a71";
const error = new ProtocolError("EMPTY_BATCH", "m");
const success = { index: 0, id: ID, success: true, txHash: `0x${"ab".repeat(32)}` } as const;
const failure = {
  index: 1,
  id: ID,
  success: false,
  error: { code: "TIMEOUT", message: "m", reason: "NOT_INCLUDED" },
} as const;
const WRITERS: Readonly<Record<string, readonly (readonly [SchemaName, string])[]>> = {
  encodeResultLine: [success, failure].map((line) => ["ResultLine", wire.encodeResultLine(line)]),
  encodeCheckLine: EXAMPLES.CheckLine.map((line) => [
    "CheckLine",
    wire.encodeCheckLine(line as wire.CheckLine),
  ]),
  encodeLineFrame: [success, failure].map((line) => ["LineFrame", wire.encodeLineFrame(1, line)]),
  encodeDoneFrame: [["DoneFrame", wire.encodeDoneFrame("a")]],
  encodeErrorFrame: [null, 1, "a"].map((request) => ["ErrorFrame", wire.encodeErrorFrame(request, error)]),
  encodeClientFrame: [
    ["SubmitFrame", wire.encodeClientFrame({ id: 1, transactions: ["0x"], wait: "included" })],
    ["WatchFrame", wire.encodeClientFrame({ id: 1, watch: [] })],
  ],
};

/** What is no JSON: parameters and headers are described with their routes. */
const OF_THE_HEAD = ["parseSubmissionsQuery", "encodeSubmissionsQuery", "parseIdempotencyKey"];

const STRANGE = [null, true, 7.5, "\u0000", [], {}];

/** The value without each of its members, and with values of another type in their place; at every depth. */
function* spoilt(value: unknown): Generator<unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const { [name]: _, ...others } = value as Record<string, unknown>;
    yield others;
    for (const strange of STRANGE) {
      if (kindOf(strange) !== kindOf(member)) yield { ...value, [name]: strange };
    }
    for (const changed of spoilt(member)) yield { ...value, [name]: changed };
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
  it.each(Object.keys(TYPES_AGREE) as SchemaName[])("%s has examples that show every member", (name) => {
    for (const example of EXAMPLES[name]) {
      expect(accepts(name, example), JSON.stringify(ajv.errors)).toBe(true);
    }
    const shown = JSON.stringify(EXAMPLES[name]);
    for (const member of membersOf(SCHEMAS[name])) expect(shown).toContain(`"${member}":`);
  });

  it("have a function of the wire for each, and know all of these", () => {
    const names = Object.keys(wire).filter((name) => /^(?:parse|read|encode)[A-Z]/.test(name));
    const known = [...Object.keys(READERS), ...Object.keys(WRITERS), ...OF_THE_HEAD];
    expect(known.sort()).toEqual(names.sort());
    expect([...new Set(Object.values(READERS).flatMap((reader) => reader.of))].sort()).toEqual(
      Object.keys(SCHEMAS).sort(),
    );
  });

  it.each(Object.entries(READERS))("and %s agree on what is right and what is not", (_, { of, read }) => {
    for (const name of of) {
      for (const example of EXAMPLES[name]) {
        expect(isRead(read, example)).toBe(true);
        for (const changed of spoilt(example)) {
          const wanted = of.some((one) => accepts(one, changed));
          expect(isRead(read, changed), `${name}: ${JSON.stringify(changed)}`).toBe(wanted);
        }
      }
    }
  });

  it.each(Object.entries(WRITERS))("hold what %s writes", (_, written) => {
    for (const [name, text] of written) {
      expect(accepts(name, JSON.parse(text)), `${name}: ${text}`).toBe(true);
    }
  });
});

function membersOf(schema: Schema): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, one]) => [name, ...membersOf(one)]);
  const parts = [...(schema.oneOf ?? []), ...(schema.items ? [schema.items] : [])];
  return [...own, ...parts.flatMap(membersOf)];
}
