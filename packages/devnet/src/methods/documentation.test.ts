import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { methodNames } from "../../test/support/methodNames.js";

const text = readFileSync(join(import.meta.dirname, "../../../../docs/devnet.md"), "utf8");
const methods = methodNames().sort();
const namespaces = new Set(methods.map((name) => name.split("_")[0]));
const documented = [...text.matchAll(/`([a-z0-9]+_[A-Za-z0-9]+)`/g)]
  .map(([, name = ""]) => name)
  .filter((name) => namespaces.has(name.split("_")[0]));

describe("docs/devnet.md", () => {
  it("names every method of the node, and no other", () => {
    expect([...new Set(documented)].sort()).toEqual(methods);
  });
});
