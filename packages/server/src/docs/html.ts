/** Markup that is safe to put into a page as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | false | undefined | readonly Part[];

/** A piece of a page. Whatever is no markup itself is text, and escaped. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((made, text, i) => `${made}${markupOf(parts[i - 1])}${text}`));
}

function markupOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (part === undefined || part === false) return "";
  if (typeof part === "object") return part.map(markupOf).join("");
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A sentence of the descriptions: what stands in backticks is code. */
export function sentence(text: string): Html {
  const pieces = text
    .split("`")
    .map((piece, i) => (i % 2 === 1 ? html`<code>${piece}</code>` : html`${piece}`));
  return html`${pieces}`;
}

export function paragraphs(texts: readonly string[]): Html {
  return html`${texts.map((text) => html`<p>${sentence(text)}</p>`)}`;
}

/** A block of code with what it is. */
export function listing(label: string, code: string): Html {
  return html`<figure><figcaption>${label}</figcaption><pre><code>${code}</code></pre></figure>`;
}

export function json(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** A table; on a narrow screen it scrolls by itself. */
export function table(head: readonly string[], rows: readonly (readonly Html[])[]): Html {
  return html`<div class="table"><table><thead><tr>${head.map((cell) => html`<th>${cell}</th>`)}</tr></thead><tbody>
${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody></table></div>`;
}
