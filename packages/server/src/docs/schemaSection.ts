import {
  ADDRESS,
  DECIMAL,
  EXAMPLES,
  HASH,
  nameOf,
  SCHEMA_NAMES,
  SCHEMAS,
  type Schema,
  type SchemaName,
} from "@gas-waiver/protocol/description";
import { type Html, html, json, listing, sentence, table } from "./html.js";

/** Renders every named schema: its members, and its examples. */
export function schemasSection(): Html {
  return html`<section id="definitions"><h2>Definitions</h2>
<p>Members marked * are always present. Numbers that may pass 2<sup>53</sup> are decimal text.</p>
${SCHEMA_NAMES.map(schemaArticle)}</section>`;
}

function schemaArticle(name: SchemaName): Html {
  const schema: Schema = SCHEMAS[name];
  return html`<article id="${anchorOf(name)}"><h3>${name}</h3>
${schema.description && html`<p>${sentence(schema.description)}</p>`}
${(schema.oneOf ?? [schema]).map((form, i) => html`${i > 0 && html`<p>or</p>`}${formOf(form)}`)}
<details><summary>Examples</summary>${EXAMPLES[name].map((one) => listing("JSON", json(one)))}</details></article>`;
}

function formOf(schema: Schema): Html {
  if (!schema.properties) return html`<p>${typeOf(schema)}</p>`;
  return table(["member", "type", "meaning"], membersOf(schema, ""));
}

/** Renders a row for each member of an object and of the unnamed objects inside it, by its path. */
function membersOf({ properties = {}, required = [] }: Schema, path: string): Html[][] {
  return Object.entries(properties).flatMap(([name, member]) => {
    const mark = required.includes(name) && html`<b title="always present">*</b>`;
    const row = [
      html`<code>${path}${name}</code>${mark}`,
      typeOf(member),
      nameOf(member) === undefined && member.description ? sentence(member.description) : html``,
    ];
    const inner = nameOf(member) === undefined ? membersOf(member, `${path}${name}.`) : [];
    return [row, ...inner];
  });
}

/** Renders the type of a value in a few words, as a link if its schema has a name. */
export function typeOf(schema: Schema): Html {
  const name = nameOf(schema);
  if (name !== undefined) return schemaLink(name);
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum) {
    return html`${schema.enum.map((one, i) => html`${i > 0 && " or "}<code>${JSON.stringify(one)}</code>`)}`;
  }
  if (schema.items) return html`array of ${typeOf(schema.items)}`;
  const type = [schema.type ?? "any"].flat().join(" or ");
  const words = schema.pattern && PATTERN_WORDS.get(schema.pattern);
  if (words) return html`${words}`;
  if (schema.pattern) return html`${type} <code>${schema.pattern}</code>`;
  return html`${type}${schema.format && ` (${schema.format})`}`;
}

/** The words for the patterns of common values. */
const PATTERN_WORDS: ReadonlyMap<string | undefined, string> = new Map([
  [ADDRESS.pattern, "0x and 40 hex digits"],
  [HASH.pattern, "0x and 64 hex digits"],
  [DECIMAL.pattern, "decimal text"],
]);

export function schemaLink(name: SchemaName): Html {
  return html`<a href="#${anchorOf(name)}">${name}</a>`;
}

function anchorOf(name: SchemaName): string {
  return `definition-${name}`;
}
