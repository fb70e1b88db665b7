/**
 * A markdown-it plugin. A link to a file of the repository that is no page of the site, such as
 * `../packages/client/README.md`, becomes plain text there: the site has no such address. On a page that is read in
 * the repository the link works.
 */
export function repositoryFiles(md) {
  md.core.ruler.after("inline", "repository-files", ({ tokens }) => {
    for (const { children } of tokens) {
      const open = [];
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const target = token.attrGet("href") ?? "";
          open.push(isRepositoryFile(target));
          if (open.at(-1)) becomeText(token, target);
        }
        if (token.type === "link_close" && open.pop()) token.tag = "span";
      }
    }
  });
}

function isRepositoryFile(target) {
  if (/^[a-z]+:|^#|^\//.test(target)) return false;
  const [path] = target.split("#");
  return (
    path.startsWith("../../") ||
    /^\.\.\/(packages|examples|scripts|bench|test|[A-Z])/.test(path) ||
    !path.endsWith(".md")
  );
}

function becomeText(token, target) {
  token.type = "html_inline";
  token.tag = "span";
  token.attrs = null;
  token.content = `<span class="repository-file" title="In the repository: ${target.replace(/^(\.\.\/)+/, "")}">`;
}
