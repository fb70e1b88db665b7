import { defineConfig } from "vitepress";
import { decisionLinks } from "./decisionLinks.mjs";
import { highlightOnce } from "./highlightOnce.mjs";
import { writeTextsForModels } from "./llms.mjs";
import { repositoryFiles } from "./repositoryFiles.mjs";
import { sidebar } from "./sidebar.mjs";

export default defineConfig({
  title: "gas-waiver",
  description: "A relay for gas-waived EVM transactions: users sign, nobody pays gas.",
  lang: "en",
  cleanUrls: false,
  lastUpdated: false,
  // A page that links to a page that is not there fails the build. Anchors are checked by scripts/documentLinks.mjs.
  ignoreDeadLinks: false,
  srcExclude: ["**/README.md"],
  buildEnd: writeTextsForModels,
  markdown: {
    theme: { light: "github-light", dark: "github-dark" },
    config: (md) => md.use(repositoryFiles).use(decisionLinks).use(highlightOnce),
  },
  vite: { server: { host: "127.0.0.1" }, preview: { host: "127.0.0.1" } },
  themeConfig: {
    outline: [2, 3],
    search: { provider: "local" },
    nav: [
      { text: "Start", link: "/getting-started" },
      { text: "Send", link: "/guides/send" },
      { text: "Operate", link: "/guides/production" },
      { text: "Understand", link: "/protocol", activeMatch: "/concepts/|/protocol|/decisions" },
      { text: "Devnet", link: "/devnet", activeMatch: "/devnet|/governance" },
      { text: "Reference", link: "/reference/client", activeMatch: "/reference/|/errors|/limits" },
    ],
    sidebar,
    docFooter: { prev: "Before", next: "Next" },
  },
});
