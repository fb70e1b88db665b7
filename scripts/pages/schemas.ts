import {
  ADDRESS,
  DECIMAL,
  EXAMPLES,
  HASH,
  nameOf,
  SCHEMAS,
  type Schema,
  type SchemaName,
} from "@gas-waiver/protocol/description";
import { code, codeBlock, heading, table } from "./markdown.js";

/** The words for the patterns of common values. */
const PATTERN_WORDS: ReadonlyMap<string | undefined, string> = new Map([
  [ADDRESS.pattern, "`0x` and 40 hex digits"],
  [HASH.pattern, "`0x` and 64 hex digits"],
  [DECIMAL.pattern, "decimal text"],
]);

const anchorOf = (name: SchemaName) => `schema-${name.toLowerCase()}`;

export function schemaLink(name: SchemaName, page = ""): string {
  return `[${name}](${page}#${anchorOf(name)})`;
}

/** Each definition with its members and its examples. */
export function schemaSections(names: readonly SchemaName[]): string {
  return names.map(schemaSection).join("\n\n");
}

function schemaSection(name: SchemaName): string {
  const schema: Schema = SCHEMAS[name];
  const forms = (schema.oneOf ?? [schema]).map(formOf).join("\n\nor\n\n");
  const examples = EXAMPLES[name].map((one) => JSON.stringify(one)).join("\n");
  return [
    heading(3, name, anchorOf(name)),
    ...(schema.description ? [schema.description] : []),
    forms,
    codeBlock("json", examples),
  ].join("\n\n");
}

function formOf(schema: Schema): string {
  if (!schema.properties) return typeOf(schema);
  return table(["member", "type", "meaning"], membersOf(schema, ""));
}

/** The members of an object and of the unnamed objects inside it, by their paths. */
function membersOf({ properties = {}, required = [] }: Schema, path: string): string[][] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const isNamed = nameOf(member) !== undefined;
    const presence = required.includes(name) ? "" : ", optional";
    const row = [code(path + name), typeOf(member) + presence, isNamed ? "" : (member.description ?? "")];
    return [row, ...(isNamed ? [] : membersOf(member, `${path}${name}.`))];
  });
}

export function typeOf(schema: Schema): string {
  const name = nameOf(schema);
  if (name !== undefined) return schemaLink(name);
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return schema.enum.map((one) => code(JSON.stringify(one))).join(" or ");
  if (schema.items) return `array of ${typeOf(schema.items)}`;
  const words = schema.pattern && PATTERN_WORDS.get(schema.pattern);
  if (words) return words;
  const type = [schema.type ?? "any"].flat().join(" or ");
  if (schema.pattern) return `${type} ${code(schema.pattern)}`;
  return schema.format ? `${type} (${schema.format})` : type;
}
