import { deepStrictEqual, ok, strictEqual, throws } from "node:assert";
import {
  type AllowedTarget,
  allowedTargetsToJson,
  bytesEqual,
  compilePolicy,
  encodeResultLine,
  InvalidAllowedTargetError,
  LINE_CODES,
  ProtocolError,
  parseAllowedTargets,
  parseAnySubmissionRecord,
  parseHealth,
  parseRequestErrorBody,
  parseResultLine,
  parseSubmissionRecord,
  parseSubmitRequest,
  parseWait,
  REASONS,
  type Reason,
  type ResultLine,
  selectorOf,
  type Verdict,
  WireError,
} from "@gas-waiver/protocol";
import fc from "fast-check";
import { bytes } from "./arbitraries.js";
import { type Law, law } from "./law.js";

/** JSON objects with the wire's member names, whose values are right or arbitrary. */
const wireLikeObject = fc.record(
  {
    transactions: fc.oneof(fc.array(fc.oneof(fc.string(), fc.jsonValue())), fc.jsonValue()),
    index: fc.oneof(fc.nat(), fc.jsonValue()),
    id: fc.oneof(fc.string(), fc.jsonValue()),
    success: fc.oneof(fc.boolean(), fc.jsonValue()),
    txHash: fc.oneof(fc.string(), fc.jsonValue()),
    error: fc.oneof(
      fc.record({ code: fc.constantFrom(...LINE_CODES, "UNAUTHORIZED", "toString"), message: fc.string() }),
      fc.jsonValue(),
    ),
    address: fc.oneof(fc.constant("*"), fc.jsonValue()),
    status: fc.constantFrom("ok", "no"),
    ["__proto__"]: fc.jsonValue(),
  },
  { requiredKeys: [] },
);
const anyJson = fc
  .oneof(wireLikeObject, fc.array(wireLikeObject, { maxLength: 3 }), fc.jsonValue())
  .map((value): unknown => JSON.parse(JSON.stringify(value)));

/** Fails if a parser throws another error than its own. */
function throwsOnly(parse: () => unknown, ownError: abstract new (...args: never[]) => Error): void {
  try {
    parse();
  } catch (error) {
    ok(error instanceof ownError, `threw ${error}`);
  }
}

const hash = bytes(32).map((value) => `0x${Buffer.from(value).toString("hex")}`);
const reason = fc.constantFrom(...(Object.keys(REASONS) as Reason[]));
const resultLine: fc.Arbitrary<ResultLine> = fc.oneof(
  fc.record({
    index: fc.nat(),
    id: fc.uuid({ version: 7 }),
    success: fc.constant(true as const),
    txHash: hash,
  }),
  fc.record(
    {
      index: fc.nat(),
      id: fc.uuid({ version: 7 }),
      success: fc.constant(false as const),
      error: fc.record(
        { code: fc.constantFrom(...LINE_CODES), message: fc.string({ unit: "binary" }), reason },
        { requiredKeys: ["code", "message"], noNullPrototype: true },
      ),
    },
    { noNullPrototype: true },
  ),
);

// Few addresses and selectors, so that entries often name the same ones.
const target = fc.constantFrom(...[1, 2, 3].map((byte) => new Uint8Array(20).fill(byte)));
const selector = fc.constantFrom(...[1, 2, 3].map((byte) => new Uint8Array(4).fill(byte)));
const allowedTargets: fc.Arbitrary<AllowedTarget[]> = fc.array(
  fc.record(
    { address: fc.oneof(target, fc.constant("*" as const)), selectors: fc.array(selector, { maxLength: 3 }) },
    { requiredKeys: ["address"] },
  ),
  { maxLength: 5 },
);
const call = fc.record({
  to: target,
  data: fc.oneof(
    bytes(0, 3),
    selector,
    fc.tuple(selector, bytes(0, 40)).map((parts) => Uint8Array.from(parts.flatMap((part) => [...part]))),
  ),
});

/** The verdict of D4, by a literal translation of its text. */
function literalVerdict(targets: readonly AllowedTarget[], to: Uint8Array, data: Uint8Array): Verdict {
  const forTarget = targets.filter(({ address }) => address === "*" || bytesEqual(address, to));
  if (forTarget.length === 0) return "target not allowed";
  const called = selectorOf(data);
  const permitted = forTarget.some(
    ({ selectors }) =>
      selectors === undefined || (called !== undefined && selectors.some((one) => bytesEqual(one, called))),
  );
  return permitted ? "allowed" : "selector not allowed";
}

export const WIRE_LAWS: readonly Law[] = [
  law("a parser of the wire throws only its own error, for any JSON", { cases: 2_500 }, anyJson, (json) => {
    throwsOnly(() => parseSubmitRequest(json, 100), ProtocolError);
    throwsOnly(() => parseWait(json), ProtocolError);
    throwsOnly(() => parseResultLine(json), WireError);
    throwsOnly(() => parseRequestErrorBody(json), WireError);
    throwsOnly(() => parseHealth(json), WireError);
    throwsOnly(() => parseSubmissionRecord(json), WireError);
    throwsOnly(() => parseAnySubmissionRecord(json), WireError);
    throwsOnly(() => parseAllowedTargets(json), InvalidAllowedTargetError);
  }),
  law(
    "an encoded result line has no line break, and decodes to the same value",
    { cases: 3_000 },
    resultLine,
    (line) => {
      const text = encodeResultLine(line);
      strictEqual(/[\n\r]/.test(text), false);
      // The comparison goes through JSON, because fast-check also makes objects without a prototype.
      deepStrictEqual(parseResultLine(JSON.parse(text)), JSON.parse(JSON.stringify(line)));
    },
  ),
  law(
    "a compiled policy gives the verdict of D4",
    { cases: 6_000 },
    fc.record({ targets: allowedTargets, call }),
    ({ targets, call: { to, data } }) => {
      strictEqual(compilePolicy(targets).check(to, data), literalVerdict(targets, to, data));
      const json = JSON.parse(JSON.stringify(allowedTargetsToJson(targets)));
      // An empty list of selectors may be on the chain, where it permits nothing; nobody may store one.
      if (targets.some(({ selectors }) => selectors?.length === 0)) {
        throws(() => parseAllowedTargets(json), InvalidAllowedTargetError);
        return;
      }
      const reread = parseAllowedTargets(json);
      strictEqual(compilePolicy(reread).check(to, data), literalVerdict(targets, to, data));
    },
  ),
];
