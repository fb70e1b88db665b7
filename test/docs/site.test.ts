// The site as `npm run docs:build` builds it, in a real browser.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join, relative } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, launchBrowser } from "../../packages/server/test/support/browser.js";
import { documents } from "../../scripts/documentLinks.mjs";
import { generatedFiles } from "../../scripts/pages/index.js";
import { freshFolder } from "../support/freshFolder.js";
import { root } from "../support/program.js";

const run = promisify(execFile);
const site = freshFolder();
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

beforeAll(async () => {
  await run(process.execPath, ["scripts/docs.mjs", "build", "--outDir", site], { cwd: root });
  // The build takes a quarter of a minute by itself, and many times that on a machine with much to do.
}, 600_000);

const filesOf = (ending: string) =>
  readdirSync(site, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(ending));

describe("the documents' site", () => {
  it("has a page for each document", async () => {
    const pages = [...documents(root), ...(await generatedFiles()).keys()]
      .filter((file) => /^docs\/.*(?<!README)\.md$/.test(file))
      .map((file) => relative("docs", file).replace(/\.md$/, ".html"));
    expect(filesOf(".html").sort()).toEqual([...pages, "404.html"].sort());
  });

  it("has its pages as text for language models, those for applications in full", () => {
    const [list, full] = ["llms.txt", "llms-full.txt"].map((file) => readFileSync(join(site, file), "utf8"));
    const pages = filesOf(".html").filter((file) => file !== "404.html");
    expect(pages.filter((page) => !list?.includes(`](/${page})`))).toEqual([]);
    const send = readFileSync(join(root, "docs/guides/send.md"), "utf8");
    expect(full).toContain(send);
    expect(full).not.toContain(readFileSync(join(root, "docs/guides/production.md"), "utf8"));
  });

  it("loads nothing from elsewhere", () => {
    for (const file of filesOf(".html")) {
      const text = readFileSync(join(site, file), "utf8");
      expect(text.match(/<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?\/\/[^"]*"/g), file).toBe(
        null,
      );
    }
    for (const file of filesOf(".css")) {
      expect(readFileSync(join(site, file), "utf8"), file).not.toMatch(/url\(["']?(?:https?:)?\/\//);
    }
  });

  it("links headings by the anchors that documents name", () => {
    for (const file of filesOf(".html")) {
      const text = readFileSync(join(site, file), "utf8");
      for (const [, path = "", anchor = ""] of text.matchAll(/<a href="(\/[^"#]*\.html)#([^"]+)"/g)) {
        const target = readFileSync(join(site, path), "utf8");
        expect(target.includes(`id="${anchor}"`), `${file} links to ${path}#${anchor}`).toBe(true);
      }
    }
  });
});

describe.skipIf(!hasBrowser)("the documents' site in a browser", { timeout: 300_000 }, () => {
  let server: Server;
  let url: string;
  let browser: Browser;
  // This browser ends with its last page, so all tests share one.
  let page: Page;
  let problems: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      const path = new URL(request.url ?? "/", "http://site").pathname.replace(/\/$/, "/index.html");
      try {
        const body = readFileSync(join(site, path));
        response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "text/plain" }).end(body);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 390, height: 844 } });
    page.setDefaultTimeout(300_000);
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("request", (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(url))
        problems.push(request.url());
    });
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  it("finds a page by its words", async () => {
    await page.goto(url);
    await page
      .getByRole("button", { name: /search/i })
      .first()
      .click();
    await page.locator("#localsearch-input").fill("idempotency key");
    await page.locator(".VPLocalSearchBox .result").first().waitFor();
    expect(await page.locator(".VPLocalSearchBox .result").first().textContent()).toMatch(/idempotency key/i);
  });

  it("plans capacity for the numbers that a reader types", async () => {
    await page.goto(`${url}/guides/capacity.html`);
    const peak = page.locator(".capacity-results tr").first();
    expect(await peak.textContent()).toContain("2,895");
    await page.locator('.capacity input[name="perSecond"]').fill("2000");
    expect(await peak.textContent()).toContain("10,000");
    expect(await page.locator(".capacity-shortages").textContent()).toContain("one primary");
  });

  it.each([
    "/",
    "/guides/capacity.html",
    "/guides/send.html",
    "/reference/settings.html",
    "/errors.html",
    "/concepts/life.html",
  ])("fits %s on a phone, with nothing wrong in the console and all from its own host", async (path) => {
    problems = [];
    await page.goto(`${url}${path}`, { waitUntil: "networkidle" });
    const beyond = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    expect(beyond).toBeLessThanOrEqual(0);
    expect(problems).toEqual([]);
  });
});
