import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { mutantsOf } from "../scripts/mutants.mjs";
import { filesIn, isCode, isTest, root } from "./support/sourceCode.js";

const changedLines = (text: string) => mutantsOf("some.ts", text).map((mutant) => mutant.text);

describe("the mutants of a file", () => {
  it.each([
    ["a < b;", ["a <= b;"]],
    ["a && b;", ["a;", "b;"]],
    ["a ?? b;", ["a;"]],
    ["if (ready) go = 1;", ["if (!(ready)) go = 1;", "if (ready) ;", "if (ready) go = (1 + 1);"]],
    ["return_(!done);", [";", "return_((done));"]],
    ["x = all.every(isGood);", [";", "x = all.some(isGood);"]],
    ["const n = 2n;", ["const n = (2n + 1n);"]],
    ["for (;;) i++;", ["for (;;) i--;"]],
  ])("of `%s` change one thing each", (text, expected) => {
    expect(changedLines(text)).toEqual(expected);
  });

  it("leave types, imports and texts alone", () => {
    const text = 'import { a } from "b";\ntype T = 1 | true;\nconst c = "d" + (e as 2);\n';
    expect(mutantsOf("some.ts", text)).toEqual([]);
  });

  it("name the line and both texts", () => {
    expect(mutantsOf("some.ts", "\nf(a === b);")).toContainEqual({
      ...{ line: 2, from: " === ", to: " !== " },
      text: "\nf(a !== b);",
    });
  });

  it("can be made of each file that is held by them", () => {
    const held = Object.keys(JSON.parse(readFileSync(join(root, "scripts/pureFiles.json"), "utf8")));
    const sources = new Set(filesIn("packages").filter((file) => isCode(file) && !isTest(file)));
    expect(held.filter((file) => !sources.has(file))).toEqual([]);
  });
});
