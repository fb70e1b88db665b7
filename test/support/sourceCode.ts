import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";

export const root = join(import.meta.dirname, "..", "..");

/** The files that git tracks in a folder, and new ones that it does not ignore. Paths start at the root. */
export function filesIn(folder: string): string[] {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder];
  const files = execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\0");
  // Git still lists a file that is deleted and not committed.
  return files.filter((file) => file !== "" && existsSync(join(root, file)));
}

export const isCode = (file: string): boolean => /\.(?:ts|mts|mjs|js)$/.test(file);

export const isTest = (file: string): boolean => /\.test\.ts$|(?:^|\/)test\//.test(file);

/** A comment, or a function, where it starts in its file: `path:line`. */
interface Place {
  readonly at: string;
}

export interface SourceComment extends Place {
  /** The words alone, without slashes and asterisks. Line comments that follow each other are one comment. */
  readonly text: string;
}

export interface SourceFunction extends Place {
  readonly name: string;
  readonly lines: number;
  /** True for an arrow function that only returns the literal of an object or array: a table, made when it is needed. */
  readonly isTable: boolean;
}

export interface SourceCode {
  /** The modules that it imports or exports from, as it writes their names. */
  readonly imports: readonly string[];
  readonly comments: readonly SourceComment[];
  readonly functions: readonly SourceFunction[];
}

/** Reads a file of TypeScript or JavaScript. @throws if it does not parse. */
export function sourceCodeOf(file: string): SourceCode {
  const text = readFileSync(join(root, file), "utf8");
  const { program, module, comments, errors } = parseSync(file, text);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  const lineAt = lineCounter(text);
  const functions: SourceFunction[] = [];
  const typeImports: string[] = [];
  visit(program, "", (node, name) => {
    const { type, start, end } = node;
    const lines = lineAt(end) - lineAt(start) + 1;
    if (FUNCTIONS.includes(type)) {
      functions.push({ at: `${file}:${lineAt(start)}`, name, lines, isTable: isTable(node) });
    }
    if (type === "TSImportType") typeImports.push(text.slice(start, end).split('"')[1] ?? "");
  });
  const imports = [...importsOf(module, text), ...typeImports];
  return { imports, comments: commentsOf(file, comments, lineAt), functions };
}

type ModuleRecord = ReturnType<typeof parseSync>["module"];

function importsOf({ staticImports, staticExports, dynamicImports }: ModuleRecord, text: string): string[] {
  return [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest?.value ?? [])),
    // Without its quotes.
    ...dynamicImports.map(({ moduleRequest: { start, end } }) => text.slice(start + 1, end - 1)),
  ];
}

/** The number of the line, from 1, that has the character at an offset. */
function lineCounter(text: string): (offset: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
}

interface Comment {
  readonly type: "Line" | "Block";
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

function commentsOf(
  file: string,
  comments: readonly Comment[],
  lineAt: (offset: number) => number,
): SourceComment[] {
  const found: { at: string; text: string }[] = [];
  let previous: Comment | undefined;
  for (const comment of comments) {
    const text = comment.value.replace(/^[ \t]*\*+ ?/gm, "").trim();
    const last = found.at(-1);
    const continues =
      last !== undefined &&
      comment.type === "Line" &&
      previous?.type === "Line" &&
      lineAt(comment.start) === lineAt(previous.start) + 1;
    if (continues) last.text += ` ${text}`;
    else found.push({ at: `${file}:${lineAt(comment.start)}`, text });
    previous = comment;
  }
  return found;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const FUNCTIONS = ["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"];

/** Calls back for each node below a value, with the name of the nearest declaration or property around it. */
function visit(value: unknown, name: string, onNode: (node: SyntaxNode, name: string) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, name, onNode);
  } else if (isNode(value)) {
    const nearest = nameOf(value) ?? name;
    onNode(value, nearest);
    for (const child of Object.values(value)) visit(child, nearest, onNode);
  }
}

function isTable(node: object): boolean {
  const { body } = node as { readonly body?: unknown };
  const literal = isNode(body) && body.type === "ParenthesizedExpression" ? inner(body) : body;
  return isNode(literal) && /^(?:Object|Array)Expression$/.test(literal.type);
}

const inner = (node: object) => (node as { readonly expression?: unknown }).expression;

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function nameOf(node: object): string | undefined {
  const { id, key } = node as { readonly id?: unknown; readonly key?: unknown };
  const { name } = (id ?? key ?? {}) as { readonly name?: unknown };
  return typeof name === "string" ? name : undefined;
}
