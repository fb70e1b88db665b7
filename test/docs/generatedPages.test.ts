// The files that are made from the code. `npm run docs:generate` writes them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "../../scripts/pages/index.js";
import { root } from "../support/program.js";

const files = await generatedFiles();
const read = (path: string) => readFileSync(join(root, path), "utf8");

describe("the generated files", () => {
  it.each([...files])("%s says what the code says", (path, text) => {
    expect(read(path), "run `npm run docs:generate`").toBe(text);
  });
});

describe("the JSON Schema of the configuration file", () => {
  it("is part of the package", () => {
    expect(JSON.parse(read("packages/cli/package.json")).files).toContain("gas-waiver.schema.json");
  });
});
