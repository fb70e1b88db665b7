import { readFileSync } from "node:fs";
import { join } from "node:path";
import { documents } from "../../scripts/documentLinks.mjs";
import { root } from "../support/program.js";

/** A fenced block of a document. */
export interface CodeBlock {
  /** The path from the root of the repository. */
  readonly file: string;
  /** The line of the opening fence, from 1 on. */
  readonly line: number;
  readonly language: string;
  /** The words behind the language: `run`, `continued`. */
  readonly words: readonly string[];
  readonly text: string;
}

/**
 * A program of a document: a block that says `run`, with those behind it that say `continued`. Blocks in tabs have the
 * tab's label, such as `[viem]`, and continue the program of that tab.
 */
export interface DocumentedProgram {
  readonly file: string;
  readonly line: number;
  readonly language: "js" | "sh";
  readonly label: string | undefined;
  readonly text: string;
}

export function blocksOf(file: string): CodeBlock[] {
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(/^( *)```(\S*) ?(.*)\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, , language = "", info = "", body = ""] = match;
    const line = text.slice(0, match.index).split("\n").length;
    return { file, line, language, words: info.split(" ").filter(Boolean), text: body };
  });
}

export function allBlocks(): CodeBlock[] {
  return documents(root).flatMap(blocksOf);
}

export function programsOf(blocks: readonly CodeBlock[]): DocumentedProgram[] {
  const programs: DocumentedProgram[] = [];
  for (const { file, line, language, words, text } of blocks) {
    if (!words.includes("run")) continue;
    if (language !== "js" && language !== "sh") throw new Error(`${file}:${line} is neither js nor sh`);
    const label = words.find((word) => word.startsWith("["));
    const before = programs.findLastIndex(
      (one) => one.file === file && one.language === language && one.label === label,
    );
    const continued = programs[before];
    if (!words.includes("continued")) programs.push({ file, line, language, label, text });
    else if (continued === undefined) throw new Error(`${file}:${line} continues nothing`);
    else programs[before] = { ...continued, text: `${continued.text}\n${text}` };
  }
  return programs;
}
