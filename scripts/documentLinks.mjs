import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** The repository's folders and files that hold documents. */
const DOCUMENTS = [
  "bench",
  "docs",
  "examples",
  "integrations",
  "packages",
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
];
const NOT_DOCUMENTS = /(^|\/)(node_modules|dist|cache)(\/|$)/;

/** Pages that are made from the code and are not in git (scripts/pages). */
const MADE = /^docs\/(?:errors|limits|reference\/(?!README)[\w-]+)\.md$/;

/**
 * Every document that is written by hand, as paths from the repository's root.
 * @param {string} root
 * @returns {string[]}
 */
export function documents(root) {
  return DOCUMENTS.flatMap((entry) => {
    if (entry.endsWith(".md")) return [entry];
    return readdirSync(join(root, entry), { recursive: true, encoding: "utf8" })
      .map((file) => join(entry, file))
      .filter((file) => file.endsWith(".md") && !NOT_DOCUMENTS.test(file) && !MADE.test(file));
  }).sort();
}

/** The heading's anchor on the site (VitePress). */
const siteAnchor = (title) =>
  title
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/[\s~`!@#$%^&*()\-_+=[\]{}|\\;:"'“”‘’<>,.?/]+/g, "-")
    .replace(/-{2,}/g, "-")
    .replace(/^-+|-+$/g, "")
    .replace(/^(\d)/, "_$1")
    .toLowerCase();

/** The heading's anchor where the file is read in the repository. */
const repositoryAnchor = (title) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\-_ ]/gu, "")
    .replaceAll(" ", "-");

/** The text of a heading without its markup. */
const titleOf = (heading) =>
  heading
    .replace(/`([^`]*)`/g, "$1")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim();

/** Whether a document is read in the repository only, or first of all: its links then lead to files that git has. */
const isOfRepository = (file) => !file.startsWith("docs/") || /(^|\/)(README|index)\.md$/.test(file);

function withoutCode(text) {
  return text.replace(/^( *)(```+)[\s\S]*?^\1\2 *$/gm, "");
}

/** The anchors that both the site and the repository have for this text. */
export function anchorsOf(text) {
  const plain = withoutCode(text);
  const counts = new Map();
  const numbered = (anchor) => {
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  };
  const titles = [...plain.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) => titleOf(heading));
  const anchors = titles.filter((title) => siteAnchor(title) === repositoryAnchor(title)).map(siteAnchor);
  const given = [...plain.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id]) => id);
  return new Set([...anchors.map(numbered), ...given]);
}

/**
 * Checks the links between documents: the file must be there, and so must the heading. Pages that are made from the code
 * are there on the site alone.
 * @param {string} root of the repository
 * @param {ReadonlyMap<string, string>} made the texts of the files that are made from the code, by their paths
 * @returns {string[]} a sentence for each link that leads nowhere
 */
export function documentProblems(root, made) {
  const read = (file) => made.get(file) ?? readFileSync(join(root, file), "utf8");
  const pages = [...made.keys()].filter((file) => file.endsWith(".md"));
  return [...documents(root), ...pages].flatMap((file) => {
    const links = [...withoutCode(read(file)).matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
    return links.flatMap(([, path, anchor]) => {
      const target = path === "" ? file : relative(root, join(root, dirname(file), path));
      if (!made.has(target) && !existsSync(join(root, target)))
        return [`${file} links to ${path}, which is not there`];
      if (MADE.test(target) && isOfRepository(file))
        return [`${file} links to ${path}, which git does not have`];
      if (!anchor || !target.endsWith(".md")) return [];
      if (anchorsOf(read(target)).has(anchor)) return [];
      return [`${file} links to ${target}#${anchor}, a heading that is not there`];
    });
  });
}
