/** A table of Markdown. A bar in a cell would end it, so bars are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text) => text.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

export function codeBlock(info: string, text: string): string {
  return `\`\`\`${info}\n${text.trimEnd()}\n\`\`\``;
}

/** A whole page; empty parts leave no gap. */
export function page(source: string, title: string, ...parts: readonly string[]): string {
  const note = `<!-- \`npm run docs:generate\` writes this page from ${source}. -->`;
  return `${[`# ${title}`, note, ...parts].filter((part) => part !== "").join("\n\n")}\n`;
}

/** A heading that can be linked to under a name of its own, on the site and in the repository. */
export function heading(level: number, title: string, anchor: string): string {
  return `<a id="${anchor}"></a>\n\n${"#".repeat(level)} ${title}`;
}

export const code = (text: string): string => `\`${text}\``;
