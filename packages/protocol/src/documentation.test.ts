import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string) => readFileSync(join(repository, path), "utf8");

/** The decisions that have a heading of their own in a document. */
function explainedIn(path: string): string[] {
  return Array.from(read(path).matchAll(/^#{2,4} (D\d+) /gm), ([, number = ""]) => number);
}

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(repository, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

describe("the documentation", () => {
  it("has each decision once: those on transactions and validators with the protocol, the others on their own page", () => {
    const all = Array.from({ length: 39 }, (_, i) => `D${i + 1}`);
    expect([...explainedIn("docs/protocol.md"), ...explainedIn("docs/decisions.md")]).toEqual(all);
  });

  it("has every decision that a comment in the code cites", () => {
    const listed = new Set([...explainedIn("docs/protocol.md"), ...explainedIn("docs/decisions.md")]);
    const packages = ["protocol", "crypto-native", "client", "server", "devnet", "cli"];
    for (const file of packages.flatMap((name) => sourcesBelow(`packages/${name}/src`))) {
      const comments = readFileSync(file, "utf8").match(/\/\*[\s\S]*?\*\/|\/\/.*/g) ?? [];
      for (const [, cited = ""] of comments.join("\n").matchAll(/\b(D[1-9]\d?)\b/g)) {
        expect(listed, `${file} cites ${cited}`).toContain(cited);
      }
    }
  });

  it("links only to headings that are there", () => {
    const text = read("docs/protocol.md");
    const anchors = Array.from(text.matchAll(/^#+ (.*)$/gm), ([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    );
    for (const [, anchor] of read("docs/decisions.md").matchAll(/protocol\.md#([^)]*)/g)) {
      expect(anchors).toContain(anchor);
    }
  });
});
