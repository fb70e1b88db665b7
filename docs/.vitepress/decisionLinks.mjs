import { readFileSync } from "node:fs";

/** The numbers of the decisions, such as `D7`, with the anchors of their headings. */
function decisionAnchors() {
  const text = readFileSync(new URL("../decisions.md", import.meta.url), "utf8");
  const headings = [...text.matchAll(/^### (D\d+) (.*)$/gm)];
  return new Map(
    headings.map(([, number, title]) => [
      number,
      `${number} ${title}`
        .toLowerCase()
        .replaceAll("`", "")
        .replace(/[^a-z0-9]+/g, "-"),
    ]),
  );
}

/** A markdown-it plugin. The number of a decision in a text becomes a link to the decision. */
export function decisionLinks(md) {
  const anchors = decisionAnchors();
  md.core.ruler.after("inline", "decision-links", ({ tokens, Token }) => {
    for (const [i, { type, children }] of tokens.entries()) {
      if (type !== "inline" || tokens[i - 1]?.type === "heading_open") continue;
      let depth = 0;
      tokens[i].children = children.flatMap((token) => {
        if (token.type === "link_open") depth++;
        if (token.type === "link_close") depth--;
        return token.type === "text" && depth === 0 ? linked(token, anchors, Token) : [token];
      });
    }
  });
}

/** The text in pieces, of which the numbers of decisions are links. */
function linked(token, anchors, Token) {
  return token.content.split(/\b(D[1-9]\d?)\b/).flatMap((piece) => {
    const text = Object.assign(new Token("text", "", 0), { content: piece });
    const anchor = anchors.get(piece);
    if (anchor === undefined) return piece === "" ? [] : [text];
    const open = new Token("link_open", "a", 1);
    open.attrs = [
      ["href", `/decisions#${anchor}`],
      ["class", "decision"],
    ];
    return [open, text, new Token("link_close", "a", -1)];
  });
}
