// Rules of style that a reader relies on. Each failure lists the offenders as `file:line`.
import { describe, expect, it } from "vitest";
import { filesIn, isCode, isTest, sourceCodeOf } from "./support/sourceCode.js";

/** The folders with production code. */
const PRODUCTION: readonly string[] = ["packages", "bench", "scripts", "examples"];

/** The folders with tests. */
const TESTS: readonly string[] = ["packages", "test"];

/** Files with another name for a reason. */
const NAMED_OTHERWISE: readonly RegExp[] = [
  // The protocol's wire objects have the names of docs/protocol.md.
  /^packages\/protocol\/src\/(?:transactions|policy)\/(?:InnerTx|WrapperTx|AllowedTarget|SignedTransaction)\./,
  // Tests of contracts have the contracts' names.
  /^packages\/devnet\/src\/contracts\/(?:TestToken|WaiverRegistry)\./,
  // Programs that a reader starts have the names of commands.
  /^packages\/cli\/bin\/gas-waiver\.mjs$/,
  /^examples\/(?:browser-server|node-ethers|node-viem)\.mjs$/,
];

const codeIn = (folders: readonly string[]) => [...new Set(folders.flatMap(filesIn).filter(isCode))];

const sources = codeIn(PRODUCTION)
  .filter((file) => !isTest(file))
  .map(sourceCodeOf);
const tests = codeIn(TESTS).filter(isTest).map(sourceCodeOf);
const comments = [...sources, ...tests].flatMap((source) => source.comments);

const MAX_LINES = 60;

/** Words that stand for something that is named elsewhere. A reader loses track of more than these in one thought. */
const STAND_INS =
  /\b(?:it|its|itself|they|them|their|theirs|themselves|whoever|whatever|what|others|those|these)\b/gi;
const MAX_STAND_INS = 3;

/** The sentences of a comment, and the parts of sentences between colons and semicolons, without code. */
const thoughtsOf = (comment: string) =>
  comment
    .replace(/`[^`]*`|\{@link [^}]*\}/g, "")
    // A paragraph, an item of a list and a tag begin anew.
    .split(/(?<=[.!?:;])\s+|\n\s*\n|\n\s*(?=[-@])/);

describe("production code", () => {
  it(`has no function of more than ${MAX_LINES} lines, but for tables`, () => {
    const functions = sources.flatMap((source) => source.functions);
    const long = functions.filter(({ lines, isTable }) => lines > MAX_LINES && !isTable);
    expect(long.map(({ at, name, lines }) => `${at} ${name} has ${lines} lines`)).toEqual([]);
  });
});

describe("comments", () => {
  it("never start with What, Who, Of or How long and leave the noun out", () => {
    const riddles = comments.filter(({ text }) => /^(?:What|Who|Of|How long)\b/.test(text));
    expect(riddles.map(({ at, text }) => `${at} ${text}`)).toEqual([]);
  });

  it(`have at most ${MAX_STAND_INS} words in a sentence that stand for something else, such as it, their or whatever`, () => {
    const riddles = comments.flatMap(({ at, text }) =>
      thoughtsOf(text)
        .filter((thought) => (thought.match(STAND_INS) ?? []).length > MAX_STAND_INS)
        .map((thought) => `${at} ${thought}`),
    );
    expect(riddles).toEqual([]);
  });

  it("cite the protocol by docs/protocol.md and an anchor, never by the number of a section", () => {
    const citations = comments.filter(({ text }) => /\bsections? \d|\bthe document\b/i.test(text));
    expect(citations.map(({ at, text }) => `${at} ${text}`)).toEqual([]);
  });
});

describe("files of code", () => {
  it("have names in camelCase", () => {
    const names = filesIn(".")
      .filter(isCode)
      .filter((file) => !NAMED_OTHERWISE.some((rule) => rule.test(file)));
    expect(names.filter((file) => !/(?:^|\/)[a-z][a-zA-Z0-9]*(?:\.[a-z]+)*\.[a-z]+$/.test(file))).toEqual([]);
  });
});
