import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "vite";
import { SOURCES } from "../sources.mjs";
import { code, codeBlock, heading, page, table } from "./markdown.js";

/** The entry points of the package, and what each needs. */
const ENTRY_POINTS = [
  { module: "@gas-waiver/client", about: "needs nothing but `fetch`" },
  { module: "@gas-waiver/client/viem", about: "needs viem 2" },
  { module: "@gas-waiver/client/ethers", about: "needs ethers 6" },
  { module: "@gas-waiver/client/wagmi", about: "needs wagmi 3, viem 2, TanStack Query 5 and React" },
  {
    module: "@gas-waiver/client/relay",
    about: "a relay inside a server of your own, which adds the API key",
  },
  {
    module: "@gas-waiver/client/self-hosted",
    about: "wraps and sends with a waiver key of your own, without a service",
  },
] as const;

/** The source file of an entry point. */
function sourceOf(module: string): string {
  const found = SOURCES.find(({ find }) => find.test(module));
  if (found === undefined) throw new Error(`${module} is no entry point`);
  return found.replacement;
}

interface Declaration {
  readonly name: string;
  readonly kind: "function" | "class" | "type";
  /** The declaration as it stands in the source, without bodies of functions. */
  readonly signature: string;
  readonly doc: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  // biome-ignore lint/suspicious/noExplicitAny: the syntax tree's nodes have members by their type.
  readonly [member: string]: any;
}

interface Source {
  readonly text: string;
  readonly body: readonly Node[];
  readonly comments: readonly { readonly start: number; readonly end: number; readonly value: string }[];
}

/** docs/reference/client.md */
export function clientPage(): string {
  const points = ENTRY_POINTS.map((point) => ({
    ...point,
    declarations: declarationsOf(sourceOf(point.module)),
  }));
  for (const { module, declarations } of points) {
    if (!declarations.some(({ kind }) => kind !== "type"))
      throw new Error(`${module} exports no function or class`);
  }
  return page(
    "the doc comments in packages/client/src",
    "Client functions",
    "Each function, class and type of `@gas-waiver/client`, by its entry point. The methods of `createWaiverClient` are the functions of the same name, bound to one service.",
    table(
      ["entry point", "", "functions and classes"],
      points.map(({ module, about, declarations }) => [
        code(module),
        about,
        declarations
          .filter(({ kind }) => kind !== "type")
          .map(({ name }) => `[${code(name)}](#${anchorOf(module, name)})`)
          .join(", "),
      ]),
    ),
    ...points.map(({ module, declarations }) => {
      const sections = (isType: boolean) =>
        declarations.filter(({ kind }) => (kind === "type") === isType).map((one) => section(module, one));
      return [`## ${module}`, ...sections(false), ...sections(true)].join("\n\n");
    }),
  );
}

const anchorOf = (module: string, name: string) =>
  `${module.split("/").slice(2).join("-") || "client"}-${name.toLowerCase()}`;

function section(module: string, { name, signature, doc }: Declaration): string {
  const { text, notes, examples } = docParts(doc);
  const title = heading(3, name, anchorOf(module, name));
  const parts = [title, text, codeBlock("ts", signature), notes, ...examples];
  return parts.filter((part) => part !== "").join("\n\n");
}

interface DocParts {
  readonly text: string;
  /** The tags of parameters, results and errors as a list. */
  readonly notes: string;
  readonly examples: readonly string[];
}

/** A doc comment as Markdown. */
function docParts(doc: string): DocParts {
  const lines = doc
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .replace(/\{@link (\w+)(?:\.\w+)?\}/g, "`$1`")
    .trim();
  const [text = "", ...tags] = lines.split(/^@/m);
  const isExample = (tag: string) => tag.startsWith("example");
  return {
    text: paragraphs(text),
    notes: tags
      .filter((tag) => !isExample(tag))
      .map(noteOf)
      .join("\n"),
    examples: tags.filter(isExample).map(exampleOf),
  };
}

/** Lines that the source broke for its width are joined. */
function paragraphs(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((part) => (/^(?:-|\||```)/m.test(part) ? part : part.replaceAll("\n", " ")))
    .join("\n\n");
}

function noteOf(tag: string): string {
  const [, name = "", rest = ""] = /^(\w+)\s*([\s\S]*)$/.exec(tag.trim()) ?? [];
  const text = rest.replaceAll("\n", " ");
  if (name !== "param") return `- **${name}** ${text}`;
  const [, parameter = "", meaning = ""] = /^(\S+)\s*(.*)$/.exec(text) ?? [];
  return `- ${code(parameter)}: ${meaning}`;
}

function exampleOf(tag: string): string {
  const text = tag.replace(/^example\s*/, "").trim();
  return text.includes("```") ? text : codeBlock("ts", text);
}

/** The exports of a module, in the order of its text. Omits names from other packages. */
function declarationsOf(file: string): Declaration[] {
  const source = parse(file);
  return source.body.flatMap((node) => {
    if (node.type === "ExportNamedDeclaration" && node.declaration) return declarationIn(source, node);
    const from: string = (node.type.startsWith("Export") && node.source?.value) || "";
    if (!from.startsWith("./")) return [];
    const other = join(dirname(file), from.replace(/\.js$/, ".ts"));
    if (node.type === "ExportAllDeclaration") return declarationsOf(other);
    const wanted = node.specifiers.map((specifier: Node) => specifier.local.name as string);
    return declarationsOf(other).filter(({ name }) => wanted.includes(name));
  });
}

function parse(path: string): Source {
  const text = readFileSync(path, "utf8");
  const { program, comments } = parseSync(path, text);
  return { text, body: program.body as unknown as Node[], comments };
}

function declarationIn(source: Source, node: Node): Declaration[] {
  const { declaration } = node;
  const name: string | undefined = declaration.id?.name ?? declaration.declarations?.[0]?.id.name;
  if (name === undefined) return [];
  const kinds: Record<string, Declaration["kind"]> = {
    FunctionDeclaration: "function",
    TSDeclareFunction: "function",
    ClassDeclaration: "class",
  };
  const kind = kinds[declaration.type] ?? (declaration.type === "VariableDeclaration" ? "function" : "type");
  const signature = kind === "class" ? classSignature(source, node) : signatureOf(source, node);
  return [{ name, kind, signature, doc: docBefore(source, node) }];
}

/** The doc comment that ends right before the node. */
function docBefore({ comments, text }: Source, { start }: Node): string {
  const last = comments.findLast(({ end }) => end <= start);
  if (last === undefined || !last.value.startsWith("*")) return "";
  return text.slice(last.end, start).trim() === "" ? last.value.slice(1) : "";
}

function signatureOf({ text }: Source, node: Node): string {
  const { body } = node.declaration;
  const end = body?.type === "BlockStatement" || body?.type === "FunctionBody" ? body.start : node.end;
  return text
    .slice(node.start, end)
    .replace(/^export (default )?/, "")
    .trim();
}

/** A class by its public methods with their comments. */
function classSignature(source: Source, node: Node): string {
  const { declaration } = node;
  const { text, comments } = source;
  const members = (declaration.body.body as Node[]).filter(
    ({ key, accessibility }) => key?.type !== "PrivateIdentifier" && accessibility !== "private",
  );
  const lines = members.map((member) => {
    const comment = comments.findLast(({ end }) => end <= member.start);
    const adjacent = comment && text.slice(comment.end, member.start).trim() === "";
    const start = adjacent ? comment.start : member.start;
    const end = member.value?.body?.start ?? member.end;
    return `  ${text.slice(start, end).trim()}${member.value?.body ? ";" : ""}`;
  });
  const head = text.slice(node.start, declaration.body.start).replace(/^export /, "");
  return `${head.trim()} {\n${lines.join("\n")}\n}`;
}
