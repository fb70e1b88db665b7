/** Markup that goes into a page as it is. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | false | undefined | readonly Part[];

/** Builds markup from a template. Every part that is not markup itself is text, and is escaped. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((markup, text, i) => `${markup}${markupOf(parts[i - 1])}${text}`));
}

function markupOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return "";
  if (typeof part === "object") return part.map(markupOf).join("");
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Renders a sentence of the descriptions, with the text in backticks as code. */
export function sentence(text: string): Html {
  const pieces = text
    .split("`")
    .map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`));
  return html`${pieces}`;
}

export function paragraphs(texts: readonly string[]): Html {
  return html`${texts.map((text) => html`<p>${sentence(text)}</p>`)}`;
}

/** Renders a block of code under a caption. */
export function listing(caption: string, code: string): Html {
  return html`<figure><figcaption>${caption}</figcaption><pre><code>${code}</code></pre></figure>`;
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** Renders a table that scrolls by itself on a narrow screen. */
export function table(head: readonly string[], rows: readonly (readonly Html[])[]): Html {
  return html`<div class="table"><table><thead><tr>${head.map((cell) => html`<th>${cell}</th>`)}</tr></thead><tbody>
${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody></table></div>`;
}
