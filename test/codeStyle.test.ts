// Rules for production code that a reader relies on. Each failure lists the offenders as `file:line`.
import { describe, expect, it } from "vitest";
import { filesIn, isCode, isTest, sourceCodeOf } from "./support/sourceCode.js";

/** The folders that follow the rules. Add yours when it does. */
const DONE: readonly string[] = [
  "packages/cli",
  "packages/client",
  "packages/crypto-native",
  "packages/devnet",
  "packages/server/src/admin",
  "packages/server/src/check",
  "packages/server/src/health",
  "packages/server/src/http",
  "packages/server/src/intake",
  "packages/server/src/keys",
  "packages/server/src/policy",
  "bench/abuse",
  "bench/devnet",
  "bench/service",
  "scripts",
  "examples",
];

const files = DONE.flatMap(filesIn).filter((file) => isCode(file) && !isTest(file));
const sources = files.map(sourceCodeOf);
const comments = sources.flatMap((source) => source.comments);

const MOST_LINES = 60;

describe("production code", () => {
  it(`has no function of more than ${MOST_LINES} lines`, () => {
    const long = sources.flatMap(({ functions }) => functions.filter(({ lines }) => lines > MOST_LINES));
    expect(long.map(({ at, name, lines }) => `${at} ${name} has ${lines} lines`)).toEqual([]);
  });

  it("has no comment that starts with What, Who, Of or How long and leaves the noun out", () => {
    const riddles = comments.filter(({ text }) => /^(?:What|Who|Of|How long)\b/.test(text));
    expect(riddles.map(({ at, text }) => `${at} ${text}`)).toEqual([]);
  });

  it("cites the protocol by docs/protocol.md and an anchor, not by the number of a section", () => {
    const citations = comments.filter(({ text }) => /\bsections? \d|\bthe document\b/i.test(text));
    expect(citations.map(({ at, text }) => `${at} ${text}`)).toEqual([]);
  });
});
