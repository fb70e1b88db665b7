// The pages as plain text for language models: llms.txt lists them all, llms-full.txt has those for applications.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { APPLICATION_GROUPS, sidebar } from "./sidebar.mjs";

const DOCS = join(import.meta.dirname, "..");

/**
 * Reads the pages of the sidebar and makes the two files of them.
 * @param {string} docs the folder with the pages, those that are generated among them.
 * @returns {{ list: string, full: string }}
 */
export function textsForModels(docs = DOCS) {
  const groups = sidebar.map(({ text, items }) => ({
    title: text,
    pages: items.map(({ text: title, link }) => pageOf(docs, title, link)),
  }));
  const lines = groups.flatMap(({ title, pages }) => [
    `## ${title}\n`,
    ...pages.map(({ title, url, about }) => `- [${title}](${url})${about && `: ${about}`}`),
    "",
  ]);
  const introduction =
    "# gas-waiver\n\n> A relay for gas-waived EVM transactions: users sign, nobody pays gas.\n";
  const full = groups
    .filter(({ title }) => APPLICATION_GROUPS.includes(title))
    .flatMap(({ pages }) => pages.map(({ url, text }) => `<!-- ${url} -->\n\n${text}`));
  return { list: [introduction, ...lines].join("\n"), full: [introduction, ...full].join("\n") };
}

/** Writes both files to the folder of the built site. */
export function writeTextsForModels({ outDir }) {
  const { list, full } = textsForModels();
  writeFileSync(join(outDir, "llms.txt"), list);
  writeFileSync(join(outDir, "llms-full.txt"), full);
}

function pageOf(docs, title, link) {
  const path = join(docs, link === "/" ? "index.md" : `${link}.md`);
  const text = existsSync(path) ? readFileSync(path, "utf8").replace(/^---\n[\s\S]*?\n---\n/, "") : "";
  // The first paragraph tells what the page is for.
  const about = text.split(/\n{2,}/).find((part) => /^[A-Z`[]/.test(part)) ?? "";
  const url = link === "/" ? "/index.html" : `${link}.html`;
  return { title, url, text, about: about.replace(/\n/g, " ").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1") };
}
