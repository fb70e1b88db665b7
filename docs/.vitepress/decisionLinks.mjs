import { readFileSync } from "node:fs";

/** The numbers of the decisions, such as `D7`, with the addresses of their headings. */
function decisionAddresses() {
  const headings = ["protocol", "decisions"].flatMap((page) => {
    const text = readFileSync(new URL(`../${page}.md`, import.meta.url), "utf8");
    return Array.from(text.matchAll(/^### (D\d+) (.*)$/gm), ([, number, title]) => {
      const anchor = `${number} ${title}`.toLowerCase().replaceAll("`", "");
      return [number, `/${page}#${anchor.replace(/[^a-z0-9]+/g, "-")}`];
    });
  });
  return new Map(headings);
}

/** A markdown-it plugin. The number of a decision in a text becomes a link to the decision. */
export function decisionLinks(md) {
  const addresses = decisionAddresses();
  md.core.ruler.after("inline", "decision-links", ({ tokens, Token }) => {
    for (const [i, { type, children }] of tokens.entries()) {
      if (type !== "inline" || tokens[i - 1]?.type === "heading_open") continue;
      let depth = 0;
      tokens[i].children = children.flatMap((token) => {
        if (token.type === "link_open") depth++;
        if (token.type === "link_close") depth--;
        return token.type === "text" && depth === 0 ? linked(token, addresses, Token) : [token];
      });
    }
  });
}

/** The text in pieces, of which the numbers of decisions are links. */
function linked(token, addresses, Token) {
  return token.content.split(/\b(D[1-9]\d?)\b/).flatMap((piece) => {
    const text = Object.assign(new Token("text", "", 0), { content: piece });
    const address = addresses.get(piece);
    if (address === undefined) return piece === "" ? [] : [text];
    const open = new Token("link_open", "a", 1);
    open.attrs = [
      ["href", address],
      ["class", "decision"],
    ];
    return [open, text, new Token("link_close", "a", -1)];
  });
}
