// CORS: pages of other origins, in requests and in a real browser.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAllowedOrigin, isOrigin } from "../../src/model/options/origins.js";
import { hasBrowser, launchBrowser } from "../support/browser.js";
import { API_KEY, GOOD_HEADERS, testServices } from "../support/testService.js";

const PAGE = "https://app.example.com";
const PUBLISHABLE_KEY = "gwp_test_page";
const PREFLIGHT = {
  origin: PAGE,
  "access-control-request-method": "POST",
  "access-control-request-headers": "authorization,content-type",
};
const BATCH = '{"transactions":["0x"]}';
const services = testServices();

function corsFields(headers: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(headers).filter((name) => name.startsWith("access-control-"));
}

describe("corsOrigins", () => {
  it.each(["https://app.example.com", "http://localhost:5173", "loopback", "*"])(
    "may contain %s",
    (entry) => {
      expect(isOrigin(entry)).toBe(true);
    },
  );

  it.each(["https://app.example.com/", "https://a.example/x", "app.example.com", "null", "ftp://a.example"])(
    "may not contain %s",
    (entry) => {
      expect(isOrigin(entry)).toBe(false);
    },
  );

  it.each([
    ["http://localhost:3000", true],
    ["http://app.localhost", true],
    ["https://127.8.0.1", true],
    ["http://[::1]:80", true],
    ["http://localhost.example.com", false],
    ["http://127.0.0.1.example.com", false],
    ["null", false],
  ])("with loopback allows a page of %s: %s", (origin, allowed) => {
    expect(isAllowedOrigin(origin, ["loopback"])).toBe(allowed);
  });
});

describe("a service without corsOrigins", () => {
  const shared = services.shared();

  it("sends no CORS fields, and refuses OPTIONS", async () => {
    const preflight = await shared().call("OPTIONS", "/v1/submit", undefined, PREFLIGHT);
    expect(preflight.status).toBe(405);
    const answered = await shared().post(BATCH, { headers: { origin: PAGE } });
    expect([...corsFields(preflight.headers), ...corsFields(answered.headers)]).toEqual([]);
  });
});

describe("a service with corsOrigins", () => {
  const shared = services.shared({ corsOrigins: [PAGE, "loopback"] });

  it("answers a preflight without a key, with the methods of the path", async () => {
    const reply = await shared().call("OPTIONS", "/v1/submit?wait=included", undefined, PREFLIGHT);
    expect(reply).toMatchObject({ status: 204, text: "" });
    expect(reply.headers).toMatchObject({
      "access-control-allow-origin": PAGE,
      "access-control-allow-methods": "POST, GET, HEAD",
      "access-control-allow-headers": expect.stringContaining("authorization, content-type"),
      vary: expect.stringContaining("Origin"),
    });
    expect(reply.headers["access-control-allow-credentials"]).toBeUndefined();
  });

  it.each([
    ["from another origin", "/v1/submit", { ...PREFLIGHT, origin: "https://evil.example" }, 405],
    ["of an unknown path", "/v1/nothing", PREFLIGHT, 404],
    ["without its method field", "/v1/submit", { origin: PAGE }, 405],
  ])("refuses a preflight %s", async (_, path, headers, status) => {
    const reply = await shared().call("OPTIONS", path, undefined, headers);
    expect(reply.status).toBe(status);
    expect(reply.headers["access-control-allow-methods"]).toBeUndefined();
  });

  it("lets its pages read responses, refusals and their header fields", async () => {
    const good = await shared().post(BATCH, { headers: { origin: PAGE } });
    const bad = await shared().call("GET", "/v1/ready", undefined, { origin: PAGE });
    const unknownPath = await shared().call("GET", "/nowhere", undefined, { origin: PAGE });
    expect([good.status, bad.status, unknownPath.status]).toEqual([200, 401, 404]);
    for (const { headers } of [good, bad, unknownPath]) {
      expect(headers["access-control-allow-origin"]).toBe(PAGE);
      expect(headers["access-control-expose-headers"]).toContain("Retry-After, RateLimit");
    }
    expect(good.headers.vary).toBe("Origin");
  });

  it("sends no CORS fields to other origins, and lets caches tell them apart", async () => {
    const { headers, status } = await shared().post(BATCH, { headers: { origin: "https://evil.example" } });
    expect(status).toBe(200);
    expect(corsFields(headers)).toEqual([]);
    expect(headers.vary).toContain("Origin");
  });
});

describe("a service for all origins", () => {
  it("allows every origin, and needs no key for the preflight", async () => {
    const service = await services.start({ corsOrigins: ["*"] });
    const origin = "https://anything.example";
    const preflight = await service.call("OPTIONS", "/v1/ready", undefined, { ...PREFLIGHT, origin });
    expect(preflight.headers["access-control-allow-origin"]).toBe("*");
    const reply = await service.call("GET", "/v1/ready", undefined, { ...GOOD_HEADERS, origin });
    expect(reply.headers).toMatchObject({ "access-control-allow-origin": "*" });
    expect(reply.headers.vary).toBeUndefined();
  });
});

describe.skipIf(!hasBrowser)("a real browser", () => {
  const withLoopback = services.shared({ corsOrigins: ["loopback"], publicApiKeys: [PUBLISHABLE_KEY] });
  const withoutCors = services.shared();
  let browser: Browser;
  const pages = createServer((_request, response) => response.end("<!doctype html><title>page</title>"));
  beforeAll(async () => {
    // Leaves out the launch flag that would switch CORS off.
    browser = await launchBrowser(
      ["--disable-web-security"],
      ["--host-resolver-rules=MAP page.test 127.0.0.1"],
    );
    await once(pages.listen(0, "127.0.0.1"), "listening");
  });
  afterAll(async () => {
    await browser?.close();
    pages.close();
  });

  it("submits from a page of an allowed origin, and from no other", async () => {
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}`);
    const send = (url: string) =>
      tab.evaluate(`fetch("${url}/v1/submit", {
        method: "POST",
        headers: { authorization: "Bearer ${API_KEY}", "content-type": "application/json" },
        body: '${BATCH}',
      }).then(
        async (answer) => [answer.status, answer.headers.get("ratelimit"), await answer.text()],
        (error) => error.name,
      )`);
    const [status, rate, line] = (await send(withLoopback().url)) as [number, string, string];
    expect([status, rate]).toEqual([200, expect.stringMatching(/^"transactions";r=\d+/)]);
    expect(JSON.parse(line)).toMatchObject({ index: 0, error: { reason: "EMPTY_TRANSACTION" } });
    expect(await send(withoutCors().url)).toBe("TypeError");
  });

  it("opens a WebSocket with a publishable key from a page of its origin, and from no other", async () => {
    const tab = await browser.newPage();
    const { port } = pages.address() as AddressInfo;
    const open = async (host: string, key: string) => {
      await tab.goto(`http://${host}:${port}`);
      return await tab.evaluate(`new Promise((resolve) => {
        const url = "${withLoopback().url.replace("http", "ws")}/v1/submit";
        const socket = new WebSocket(url, ["gas-waiver.v1", "bearer.${key}"]);
        socket.onopen = () => socket.send('${BATCH}');
        socket.onmessage = ({ data }) => resolve([socket.protocol, JSON.parse(data).error.reason]);
        socket.onerror = () => resolve("refused");
      })`);
    };
    expect(await open("127.0.0.1", PUBLISHABLE_KEY)).toEqual(["gas-waiver.v1", "EMPTY_TRANSACTION"]);
    expect(await open("127.0.0.1", "gwp_test_unknown")).toBe("refused");
    // Chromium finds this name without asking anybody; it is no name of loopback for the service.
    expect(await open("page.test", PUBLISHABLE_KEY)).toBe("refused");
  });
});
