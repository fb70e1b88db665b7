// Checks of every document that need not run anything: links, commands and samples.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { sidebar } from "../../docs/.vitepress/sidebar.mjs";
import { documentProblems, documents } from "../../scripts/documentLinks.mjs";
import { allCommands } from "../../scripts/pages/commandsPage.js";
import { generatedFiles } from "../../scripts/pages/index.js";
import { root } from "../support/program.js";
import { allBlocks, type CodeBlock } from "./codeBlocks.js";

const made = await generatedFiles();
const blocks = allBlocks();
const placeOf = ({ file, line }: CodeBlock) => `${file}:${line}`;

describe("the documents", () => {
  it("link to files and headings that are there, on the site and in the repository", () => {
    expect(documentProblems(root, made)).toEqual([]);
  });

  it("are all in the site's sidebar, once", () => {
    const listed = sidebar.flatMap(({ items }) => items.map(({ link }) => link));
    const files = [...documents(root), ...made.keys()]
      .filter((file) => /^docs\/.*(?<!README)\.md$/.test(file))
      .map(
        (file) =>
          `/${relative("docs", file)
            .replace(/\.md$/, "")
            .replace(/^index$/, "")}`,
      );
    expect([...listed].sort()).toEqual(files.sort());
  });

  it("give their code blocks a language that the site can colour, or none", () => {
    const programs = ["go", "js", "json", "python", "sh", "solidity", "sql", "ts", "tsx"];
    const known = ["", "html", "http", "ini", "yaml", ...programs];
    expect(blocks.filter(({ language }) => !known.includes(language)).map(placeOf)).toEqual([]);
  });

  it("show code of the examples as it is in their files, whose tests run it", () => {
    const linesOf = (text: string) => text.trim().split(/\n\s*/).join("\n");
    for (const block of blocks.filter(({ text }) => text.startsWith("// examples/"))) {
      const [, file = "", code = ""] = /^\/\/ (examples\/\S+)\n([\s\S]+)/.exec(block.text) ?? [];
      expect(linesOf(readFileSync(join(root, file), "utf8")), placeOf(block)).toContain(linesOf(code));
    }
  });

  it("have pictures of less than 100 kB", () => {
    const folder = join(root, "docs", "pictures");
    for (const file of readdirSync(folder))
      expect(statSync(join(folder, file)).size, file).toBeLessThan(100_000);
  });

  it("have JSON that can be read, except where something is left out", () => {
    for (const block of blocks.filter(({ language, text }) => language === "json" && !text.includes("…"))) {
      const lines = block.text.trimEnd().split("\n");
      const isLines = lines.every((line) => /^[{[].*[}\]]$|^".*"$/.test(line));
      for (const value of isLines ? lines : [block.text]) {
        expect(() => JSON.parse(value), placeOf(block)).not.toThrow();
      }
    }
  });
});

describe("the programs of the documents", () => {
  const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;

  it("stand below a line that installs what they import", () => {
    const problems: string[] = [];
    for (const block of blocks.filter(({ language, words }) => language === "js" && words.includes("run"))) {
      const before = readFileSync(join(root, block.file), "utf8").split("\n").slice(0, block.line).join("\n");
      const installed = Array.from(before.matchAll(/\bnpm install ([^`\n]+)/g), ([, names = ""]) =>
        names.split(" "),
      );
      const imported = Array.from(block.text.matchAll(/^import .*from "([^"]+)"/gm), ([, name = ""]) =>
        packageOf(name),
      );
      const missing = imported.filter(
        (name) => !name.startsWith("node:") && !installed.flat().includes(name),
      );
      if (missing.length > 0) problems.push(`${placeOf(block)}: ${missing.join(", ")}`);
    }
    expect(problems).toEqual([]);
  });

  it("are run, but for those of pages that a browser or a wallet has to run, and a test that runs as one", () => {
    const isProgram = ({ language }: CodeBlock) => /^[jt]sx?$/.test(language);
    const isOfExample = ({ text }: CodeBlock) => text.startsWith("// examples/");
    const skipped = blocks.filter(
      (block) => isProgram(block) && !block.words.includes("run") && !isOfExample(block),
    );
    expect([...new Set(skipped.map(({ file }) => file))]).toEqual([
      "docs/guides/gateway.md",
      // Excerpts of docs/guides/send.md.
      "docs/index.md",
      // test/recipes/testing.test.ts
      "docs/recipes/testing.md",
    ]);
  });
});

describe("the commands of the documents", () => {
  it("are commands, with flags that they have", async () => {
    const commands = await allCommands();
    const problems: string[] = [];
    for (const block of blocks.filter(({ language }) => language === "sh")) {
      const whole = block.text.replaceAll(/\\\n/g, " ").replaceAll(/ +#.*$/gm, "");
      for (const [call = ""] of whole.matchAll(/(?:^|[\s;$(])gas-waiver [a-z][^;|&)\n]*/gm)) {
        const words = call.replace(/^[;$(]/, "").trim();
        const found = commands.filter(({ name }) => `${words} `.startsWith(`${name} `));
        const command = found.at(0)?.command;
        if (command === undefined) problems.push(`${placeOf(block)}: ${words}`);
        const flags = Object.values(command?.settings ?? {}).map(({ flag }) => flag);
        for (const [, flag] of words.matchAll(/ --([a-z-]+)/g)) {
          if (flag !== "help" && !flags.includes(flag)) problems.push(`${placeOf(block)}: --${flag}`);
        }
      }
    }
    expect(problems).toEqual([]);
  });

  it("name scripts of npm that there are", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    for (const block of blocks.filter(({ language }) => language === "sh" || language === "")) {
      for (const [, script = ""] of block.text.matchAll(/^npm run ([\w:-]+)/gm)) {
        expect(Object.keys(scripts), placeOf(block)).toContain(script);
      }
    }
  });

  it("name files of the repository that are there", () => {
    for (const block of blocks.filter(({ language }) => language === "sh")) {
      const named = block.text.matchAll(/(?<![\w./-])((?:packages|examples|docs|test|scripts)\/[\w./-]+)/g);
      for (const [, file = ""] of named)
        expect(existsSync(join(root, file)), `${placeOf(block)}: ${file}`).toBe(true);
    }
  });
});

describe("the messages that the guides quote", () => {
  const sources = ["packages/server/src", "packages/cli/src"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
        .map((file) => readFileSync(join(root, folder, file), "utf8")),
    )
    .join("\n")
    .replaceAll("\\`", "`");

  /** The first column of the table below a heading, in the pieces between its ellipses. */
  function quoted(file: string, heading: string): string[] {
    const text = readFileSync(join(root, file), "utf8");
    const [, section = ""] = text.split(`\n## ${heading}\n`);
    const [own = ""] = section.split("\n## ");
    const rows = own
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .slice(2);
    return rows.flatMap((row) => (row.split(" | ")[0] ?? "").replace(/^\| /, "").split("…"));
  }

  it.each([
    ["docs/guides/monitoring.md", "Logs"],
    ["docs/guides/troubleshooting.md", "The service does not start"],
  ])("%s, %s: are messages of the program", (file, heading) => {
    const pieces = quoted(file, heading).map((piece) => piece.trim().replace(/^[,:] /, ""));
    expect(pieces.filter((piece) => piece.length > 8).length).toBeGreaterThan(2);
    expect(pieces.filter((piece) => !sources.includes(piece))).toEqual([]);
  });
});
