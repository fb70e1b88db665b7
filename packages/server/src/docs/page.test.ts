import { CLOSE_CODES, REASONS, ROUTES } from "@gas-waiver/protocol";
import { SCHEMAS } from "@gas-waiver/protocol/description";
import { describe, expect, it } from "vitest";
import { hasBrowser, launchBrowser } from "../../test/support/browser.js";
import { testServices } from "../../test/support/testService.js";
import { html } from "./html.js";
import { renderPage } from "./page.js";

const documents = { "openapi.json": '{"is":"ö"}' };
const page = renderPage({ version: "1.2.3", documents });
const services = testServices();
const shared = services.shared();

describe("html", () => {
  it("escapes text, also in attributes", () => {
    expect(html`<p title="${'"'}">${"<b> & 'c'"}</p>`.text).toBe(
      '<p title="&#34;">&#60;b&#62; &#38; &#39;c&#39;</p>',
    );
  });
});

describe("the page", () => {
  it("has an anchor for every link, and every anchor once", () => {
    const anchors = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id);
    expect(new Set(anchors).size).toBe(anchors.length);
    const links = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id = ""]) => id);
    expect(links.filter((id) => !anchors.includes(id))).toEqual([]);
    expect(anchors).toEqual(
      expect.arrayContaining([
        ...Object.keys(ROUTES).map((name) => `route-${name}`),
        ...Object.keys(REASONS).map((name) => `reason-${name}`),
        ...Object.keys(SCHEMAS).map((name) => `definition-${name}`),
      ]),
    );
    for (const code of Object.values(CLOSE_CODES)) expect(page).toContain(`<code>${code}</code>`);
  });

  it("loads nothing from outside", () => {
    const outside = page.match(/<(?:script|link|img|iframe)\b|\bsrc=|@import|url\(|href="(?!#|data:)/g);
    expect(outside).toBeNull();
  });

  it("holds the documents for tools", () => {
    const [, name, data = ""] =
      /download="([^"]+)" href="data:application\/json;base64,([^"]+)"/.exec(page) ?? [];
    expect([name, Buffer.from(data, "base64").toString()]).toEqual(Object.entries(documents)[0]);
  });

  it.skipIf(!hasBrowser)(
    "fits a phone and a desktop, in a real browser under its own security policy",
    async () => {
      const browser = await launchBrowser();
      try {
        const tab = await browser.newPage();
        const requests: string[] = [];
        const consoleMessages: string[] = [];
        tab.on("request", (request) => requests.push(request.url()));
        tab.on("console", (message) => consoleMessages.push(message.text()));
        const url = `${shared().url}/docs`;
        for (const width of [360, 1280]) {
          await tab.setViewportSize({ width, height: 800 });
          expect((await tab.goto(url))?.status()).toBe(200);
          expect(await tab.evaluate("document.documentElement.scrollWidth")).toBe(width);
        }
        // The browser's own margin is 8 pixels, so the security policy lets the style through.
        expect(await tab.evaluate("getComputedStyle(document.body).margin")).toBe("0px");
        await tab.click('a[href="#websocket"]');
        const [download] = await Promise.all([
          tab.waitForEvent("download"),
          tab.click('a[download="openapi.json"]'),
        ]);
        expect(download.suggestedFilename()).toBe("openapi.json");
        expect(new URL(tab.url()).hash).toBe("#websocket");
        expect(requests.filter((one) => one !== url && !/favicon|^data:/.test(one))).toEqual([]);
        expect(consoleMessages.filter((one) => !/favicon|404/.test(one))).toEqual([]);
      } finally {
        await browser.close();
      }
    },
  );
});
