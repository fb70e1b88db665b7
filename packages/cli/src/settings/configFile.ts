import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from "yaml";
import { hintOf } from "./closestWord.js";
import { type Form, formOf } from "./form.js";
import { unreadable } from "./readText.js";
import { canAllWrite, secretProblem } from "./secretFile.js";
import { fileKeyOf, type InvalidValueError, type Setting, type Settings } from "./setting.js";
import { type Place, UNREADABLE } from "./source.js";
import { withoutUrlSecrets } from "./withoutUrlSecrets.js";

/** A mistake in a configuration file. */
export interface FileProblem extends Place {
  /** A sentence that begins with the key: `port "no" is a text, and must be a whole number`. */
  readonly text: string;
}

/** The value of one key of the file, as the text that a flag would have. */
export interface FileValue extends Place {
  readonly key: string;
  /** The variable of the key's setting. */
  readonly env: string | undefined;
  /** The problems say already why a value is not readable. */
  readonly text: string | typeof UNREADABLE;
}

/** One entry of the list `networks`. */
export interface FileNetwork extends Place {
  readonly values: ReadonlyMap<string, FileValue>;
}

/** A configuration file. Its values have the types of their settings, and are not parsed yet. */
export interface ConfigFile {
  readonly path: string;
  /** The values at the top level, by their keys. */
  readonly values: ReadonlyMap<string, FileValue>;
  /** Undefined if the file has no list of networks. */
  readonly networks: readonly FileNetwork[] | undefined;
  /** In the order of the file. */
  readonly problems: readonly FileProblem[];
  /** True if the file is no YAML. Then nothing of it is read, since a part may stand for something else. */
  readonly isBroken: boolean;
}

/** The settings that a file may have. */
export interface ConfigFileSettings {
  readonly shared: Settings;
  /** The settings of a chain: at the top level for one network, else in each entry of `networks`. */
  readonly network: Settings;
  /** The keys that only an entry of `networks` has. */
  readonly place: Settings;
}

/**
 * Reads a configuration file as YAML, of which JSON is a part, and finds all mistakes in its structure.
 * @throws {@link InvalidValueError} if the file cannot be read.
 */
export function readConfigFile(path: string, settings: ConfigFileSettings): ConfigFile {
  try {
    return new Reader(path, readFileSync(path, "utf8"), settings).read();
  } catch (error) {
    // Editors replace the file, so that it may be gone also when its rights are looked at.
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw unreadable(error);
  }
}

/** Keys by which a level of the file refers to its settings, with the advice for those of the other level. */
interface Level {
  readonly settings: Settings;
  readonly elsewhere: Settings;
  readonly advice: string;
  readonly others: readonly string[];
}

class Reader {
  readonly #path: string;
  readonly #text: string;
  readonly #settings: ConfigFileSettings;
  readonly #lines = new LineCounter();
  readonly #problems: FileProblem[] = [];

  constructor(path: string, text: string, settings: ConfigFileSettings) {
    this.#path = path;
    this.#text = text;
    this.#settings = settings;
  }

  read(): ConfigFile {
    const isTooDeep = isNestedTooDeep(this.#text);
    if (isTooDeep) this.#add(0, "the file is not YAML: its brackets are nested too deep");
    const document = parseDocument(isTooDeep ? "" : this.#text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      uniqueKeys: false,
    });
    for (const { pos, message } of document.errors) this.#add(pos[0], withoutQuotation(message));
    const root = document.contents;
    const resolved = (node: unknown) => (isAlias(node) ? node.resolve(document) : node);
    let values: Map<string, FileValue> = new Map();
    let networks: FileNetwork[] | undefined;
    if (canAllWrite(this.#path)) this.#add(0, "the file can be written by every user: take that right away");
    const isBroken = isTooDeep || document.errors.length > 0;
    if (isMap(root) && !isBroken) {
      ({ values, networks } = this.#readRoot(root, resolved));
    } else if (root !== null && !isBroken) {
      this.#add(0, "the file has no settings: each is a line such as `port: 8080`");
    }
    const problems = this.#problems.sort((a, b) => a.line - b.line || a.column - b.column);
    return { path: this.#path, values, networks, problems, isBroken };
  }

  #readRoot(root: YAMLMap, resolved: Resolve) {
    const { shared, network, place } = this.#settings;
    const list = root.items.find(({ key }) => isScalar(key) && key.value === "networks");
    const top: Level =
      list === undefined
        ? { settings: { ...shared, ...network }, elsewhere: place, advice: "", others: ["networks"] }
        : {
            settings: shared,
            elsewhere: network,
            advice: "is a setting of a network: give it in each entry of networks",
            others: ["networks"],
          };
    const values = this.#readLevel(root, top, resolved);
    if (list === undefined) return { values, networks: undefined };
    const seq = resolved(list.value);
    if (!isSeq(seq) || seq.items.length === 0) {
      this.#add(offsetOf(list.key), "networks is not a list of networks, each with its name");
      return { values, networks: [] };
    }
    const entry: Level = {
      settings: { ...place, ...network },
      elsewhere: shared,
      advice: "is a setting of the whole service: give it at the top level",
      others: [],
    };
    const networks = seq.items.flatMap((item) => {
      const map = resolved(item);
      const offset = offsetOf(item);
      if (isMap(map)) return { ...this.#place(offset), values: this.#readLevel(map, entry, resolved) };
      this.#add(offset, "an entry of networks is not a map of settings");
      return [];
    });
    return { values, networks };
  }

  #readLevel(map: YAMLMap, level: Level, resolved: Resolve): Map<string, FileValue> {
    const byKey = settingsByKey(level.settings);
    const elsewhere = settingsByKey(level.elsewhere);
    const values = new Map<string, FileValue>();
    const firstLines = new Map<string, number>();
    for (const { key: keyNode, value } of map.items) {
      const offset = offsetOf(keyNode);
      const key = isScalar(keyNode) ? String(keyNode.value) : "?";
      const first = firstLines.get(key);
      if (first !== undefined) {
        this.#add(offset, `${key} is given twice; the first time is in line ${first}`);
        continue;
      }
      firstLines.set(key, this.#place(offset).line);
      if (level.others.includes(key)) continue;
      const setting = byKey.get(key);
      if (setting !== undefined)
        this.#readValue(values, { key, setting, offset, node: resolved(value), value });
      else if (elsewhere.has(key) && level.advice !== "") this.#add(offset, `${key} ${level.advice}`);
      else this.#add(offset, unknownKey(key, [...byKey.keys(), ...level.others]));
    }
    return values;
  }

  #readValue(
    values: Map<string, FileValue>,
    found: { key: string; setting: Setting<unknown>; offset: number; node: unknown; value: unknown },
  ): void {
    const { key, setting, node } = found;
    const offset = offsetOf(found.value) || found.offset;
    const form = formOf(setting);
    const text = textOf(node, form);
    if (setting.secret) {
      const problem = secretProblem(this.#path);
      if (problem !== undefined) this.#add(found.offset, `${key} is a secret, and the file ${problem}`);
    }
    if (text === undefined) {
      const shown = setting.secret ? "" : ` ${quoted(node)}`;
      const remedy = hasUnquotedHex(node) ? ": put it in quotes, or YAML reads a number" : "";
      this.#add(offset, `${key}${shown} is ${kindOf(node)}, and must be ${NAMES[form.kind]}${remedy}`);
    }
    const value = text === undefined ? UNREADABLE : this.#withPath(text, form);
    values.set(key, { key, env: setting.env, text: value, ...this.#place(offset) });
  }

  /** Paths are relative to the file. */
  #withPath(text: string, { kind }: Form): string {
    const isPath = kind === "path" || (kind === "targets" && !text.startsWith("["));
    return isPath ? resolve(dirname(this.#path), text) : text;
  }

  #place(offset: number) {
    const { line, col } = this.#lines.linePos(offset);
    // An empty file has no line.
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  #add(offset: number, text: string): void {
    this.#problems.push({ ...this.#place(offset), text });
  }
}

/** Settings have brackets in brackets a few times. */
const MAX_NESTED_BRACKETS = 100;

/** Tells whether brackets are so deep that the parser would take all memory, which no caller can catch. */
function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    if (bracket === "]" || bracket === "}") depth = Math.max(0, depth - 1);
    else if (++depth > MAX_NESTED_BRACKETS) return true;
  }
  return false;
}

type Resolve = (node: unknown) => unknown;

/** A message of the parser may quote the file, and so a secret. */
function withoutQuotation(message: string): string {
  const words = message
    .replace(/\s+/g, " ")
    .replace(/: .*$/, "")
    .replace(/["'`].*$/, "");
  return `the file is not YAML here: ${words.trim()}`;
}

function offsetOf(node: unknown): number {
  return (node as Partial<Node> | null)?.range?.[0] ?? 0;
}

function settingsByKey(settings: Settings): Map<string, Setting<unknown>> {
  const all = Object.values(settings).map((setting) => [fileKeyOf(setting), setting] as const);
  return new Map(all.filter((pair): pair is [string, Setting<unknown>] => pair[0] !== undefined));
}

function unknownKey(key: string, known: readonly string[]): string {
  // A key of another form may be a part of something else, and so of a secret. Secrets are longer than names.
  if (!/^[\w.-]{1,40}$/.test(key)) return "there is a key that is no setting";
  return `${key} is not a setting${hintOf(key, known)}`;
}

/** The value as the text of a flag; undefined if it has another form. */
function textOf(node: unknown, form: Form): string | undefined {
  if (isSeq(node)) {
    if (form.kind === "targets") return JSON.stringify(node.toJSON());
    if (form.kind !== "list") return undefined;
    const entries = node.items.map((item) => (isScalar(item) ? item.value : undefined));
    return entries.every((entry) => typeof entry === "string") ? entries.join(",") : undefined;
  }
  if (!isScalar(node)) return undefined;
  const { value, source } = node;
  switch (form.kind) {
    case "integer":
    case "number":
      return typeof value === "number" ? (source ?? String(value)) : undefined;
    case "boolean":
      return typeof value === "boolean" ? String(value) : undefined;
    default:
      return typeof value === "string" && value !== "" ? value : undefined;
  }
}

const NAMES: Readonly<Record<Form["kind"], string>> = {
  text: "a text (in quotes, if it looks like something else)",
  path: "the path of a file or folder",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  list: "a list of texts",
  targets: "a list of targets, or the path of a JSON file of them",
};

function kindOf(node: unknown): string {
  if (isSeq(node)) return "a list";
  if (isMap(node)) return "a map";
  if (!isScalar(node) || node.value === null) return "empty";
  return node.value === "" ? "empty" : `a ${typeof node.value === "string" ? "text" : typeof node.value}`;
}

/** Whether an address or a key without quotes, which YAML reads as a number, is among the values. */
function hasUnquotedHex(node: unknown): boolean {
  if (isSeq(node)) return node.items.some(hasUnquotedHex);
  return isScalar(node) && typeof node.value === "number" && /^0x/i.test(node.source ?? "");
}

/** The value as the file writes it: an address without quotes is a number to YAML. */
function writtenValue(node: unknown): unknown {
  if (isScalar(node))
    return typeof node.value === "number" && !hasUnquotedHex(node) ? node.value : (node.source ?? node.value);
  if (isSeq(node)) return node.items.map(writtenValue);
  return isMap(node) ? node.toJSON() : "";
}

function quoted(node: unknown): string {
  const value = isScalar(node) ? (node.source ?? node.value) : writtenValue(node);
  const text = withoutUrlSecrets(JSON.stringify(value) ?? "");
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
