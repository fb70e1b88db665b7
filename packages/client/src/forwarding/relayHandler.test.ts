import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HDNodeWallet, type Wallet } from "ethers";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { submit } from "../actions/submit.js";
import { InvalidArgumentError } from "../errors.js";
import { createConnection } from "../http/connection.js";
import { nodeListener } from "./nodeListener.js";
import { createRelayHandler, type RelayHandler, type RelayOptions } from "./relayHandler.js";

const API_KEY = "gw_test_0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const TOKEN = "0x78cf24370174180738c5b8e352b6d14c83a6c9a9";
const ID = "01890a5d-ac96-774b-bcce-b302099a8057";
const PHRASE = "test test test test test test test test test test test junk";
const alice = HDNodeWallet.fromPhrase(PHRASE, undefined, "m/44'/60'/0'/0/2");
const sender = alice.address.toLowerCase();

const transferBy = (wallet: Wallet | HDNodeWallet, overrides: object = {}) =>
  wallet.signTransaction({
    ...{ type: 0, chainId: 2201, nonce: 7, gasPrice: 0, gasLimit: 100_000, to: TOKEN, value: 3n },
    ...{ data: `0xa9059cbb${"00".repeat(64)}`, ...overrides },
  });

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** The requests that have reached the service. */
const seen: Seen[] = [];
/** The service's answer to the next requests. */
let answer: (request: Seen, response: ServerResponse) => void;

const line = (index: number) =>
  `${JSON.stringify({ index, id: ID, success: true, txHash: `0x${"ab".repeat(32)}` })}\n`;
const record = (owner: string) => ({
  ...{ id: ID, state: "queued", certainty: "not_broadcast", txHash: `0x${"ab".repeat(32)}` },
  ...{ sender: owner, nonce: "7", acceptedAt: "2030-01-01T00:00:00.000Z" },
});
const json = (response: ServerResponse, status: number, body: unknown, headers = {}) =>
  response
    .writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers })
    .end(JSON.stringify(body));

const service = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { method = "", url = "", headers } = request;
  const one = { method, url, headers, body };
  seen.push(one);
  answer(one, response);
});
let url: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
});
afterAll(() => {
  service.closeAllConnections();
  service.close();
});
beforeEach(() => {
  seen.length = 0;
  answer = (_, response) => response.writeHead(200, { "content-type": "application/x-ndjson" }).end(line(0));
});

const relayOf = (options: Partial<RelayOptions> = {}) =>
  createRelayHandler({ url, apiKey: API_KEY, allow: () => true, ...options });

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  new Request(`http://app.example${path}`, {
    ...{ method: "POST", headers: { "content-type": "application/json", ...headers } },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const get = (path: string) => new Request(`http://app.example${path}`);

/** Everything that a caller can see of an answer. */
async function shown(response: Response): Promise<string> {
  return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
}

async function refusal(relay: RelayHandler, request: Request) {
  const response = await relay(request);
  const text = await shown(response.clone());
  expect(text).not.toContain(API_KEY);
  expect(text).not.toContain(url.slice("http://".length));
  const { error } = (await response.json()) as { error: { reason: string; code: string; message: string } };
  return { status: response.status, reason: error.reason, message: error.message, code: error.code };
}

describe("a handler in a route of Next.js", () => {
  it("takes what Next.js calls it with: a proxy of a request of its own class, and the route's parameters", async () => {
    class NextRequest extends Request {
      readonly nextUrl = new URL(this.url);
    }
    const own = new NextRequest(post("/api/gasless/v1/submit", { transactions: [await transferBy(alice)] }));
    const request = new Proxy(own, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const POST: (request: Request, context: object) => Promise<Response> = relayOf({ path: "/api/gasless" });
    const response = await POST(request, { params: Promise.resolve({ path: ["v1", "submit"] }) });
    expect([response.status, await response.text()]).toEqual([200, line(0)]);
    expect(seen).toHaveLength(1);
  });
});

describe("a relayed submit", () => {
  it("reaches the service with the key and nothing else of the caller's, and streams back", async () => {
    const signed = await transferBy(alice);
    let end = () => {};
    answer = (_, response) => {
      response.writeHead(200, {
        "content-type": "application/x-ndjson",
        ratelimit: '"key";r=1',
        "x-up": "1",
      });
      response.write(line(1));
      end = () => response.end(line(0));
    };
    const body = { transactions: [signed, signed], wait: "included", more: { a: 1 } };
    const headers = {
      authorization: "Bearer mine",
      cookie: "s=1",
      "x-forwarded-for": "::1",
      host: "app.example",
    };
    const response = await relayOf({ path: "/api" })(
      post("/api/v1/submit?wait=included&admin=1", body, { ...headers, "idempotency-key": "order-17" }),
    );
    const reader = response.body?.getReader();
    // The first line is here while the service has not ended its answer.
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(line(1));
    end();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(line(0));
    expect([...response.headers.keys()].sort()).toEqual(["content-type", "x-content-type-options"]);
    const { headers: sent, ...rest } = seen[0] as Seen;
    expect(rest).toEqual({
      ...{ method: "POST", url: "/v1/submit?wait=included" },
      body: JSON.stringify({ transactions: [signed, signed], wait: "included" }),
    });
    expect(sent).toMatchObject({ authorization: `Bearer ${API_KEY}` });
    expect(sent.cookie ?? sent["x-forwarded-for"]).toBeUndefined();
  });

  it("has an Idempotency-Key among those of its sender, whom another caller cannot forestall", async () => {
    const bob = alice.deriveChild(1);
    const nameOf = async (wallet: HDNodeWallet, key: string, nonce: number) => {
      answer = (_, response) =>
        response.writeHead(200, { "content-type": "application/x-ndjson" }).end(line(0));
      const body = { transactions: [await transferBy(wallet, { nonce })] };
      await relayOf()(post("/v1/submit", body, { "idempotency-key": key }));
      return seen.at(-1)?.headers["idempotency-key"];
    };
    const name = await nameOf(alice, "order-17", 7);
    expect(name).toMatch(/^[!-~]{1,255}$/);
    expect(await nameOf(alice, "order-17", 8)).toBe(name);
    expect(await nameOf(alice, "order-18", 7)).not.toBe(name);
    expect(await nameOf(bob, "order-17", 7)).not.toBe(name);
  });

  it("is decided for each decoded transaction, and sent only if all are allowed", async () => {
    const asked: unknown[] = [];
    const relay = relayOf({
      allow: (transaction, request) => {
        asked.push([transaction, request.headers.get("x-session")]);
        return transaction.index === 0;
      },
    });
    const signed = await transferBy(alice);
    const request = post("/v1/submit", { transactions: [signed, signed, signed] }, { "x-session": "s1" });
    expect(await refusal(relay, request)).toMatchObject({ status: 403, reason: "RELAY_REFUSED" });
    expect(asked).toHaveLength(2);
    expect(asked[0]).toEqual([
      {
        ...{ index: 0, hash: expect.stringMatching(/^0x[0-9a-f]{64}$/), sender, to: TOKEN, chainId: 2201n },
        ...{
          selector: "0xa9059cbb",
          data: `0xa9059cbb${"00".repeat(64)}`,
          value: 3n,
          gas: 100_000n,
          nonce: 7n,
        },
      },
      "s1",
    ]);
    expect(seen).toEqual([]);
  });

  it("is refused where the decision is not `true`, or fails", async () => {
    const request = async () => post("/v1/check", { transactions: [await transferBy(alice)] });
    const forgetful = relayOf({ allow: (() => "yes") as unknown as RelayOptions["allow"] });
    expect(await refusal(forgetful, await request())).toMatchObject({ status: 403 });
    const errors: unknown[] = [];
    const failing = relayOf({
      allow: () => Promise.reject(new Error("the database of sessions is away")),
      onError: (error) => errors.push(error),
    });
    const { status, message } = await refusal(failing, await request());
    expect([status, message.includes("database")]).toEqual([500, false]);
    expect(errors).toEqual([new Error("the database of sessions is away")]);
    expect(seen).toEqual([]);
  });

  it("is bound to the accounts that the application names", async () => {
    const relay = relayOf({ accounts: (request) => [request.headers.get("x-account") ?? ""] });
    const transactions = [await transferBy(alice)];
    const foreign = post("/v1/submit", { transactions }, { "x-account": TOKEN });
    expect(await refusal(relay, foreign)).toMatchObject({ status: 403, reason: "RELAY_REFUSED" });
    const own = await relay(post("/v1/submit", { transactions }, { "x-account": alice.address }));
    expect(own.status).toBe(200);
    expect(seen).toHaveLength(1);
    // A session that is not found binds to no account, and does not unbind.
    const lost = relayOf({ accounts: (() => undefined) as unknown as NonNullable<RelayOptions["accounts"]> });
    expect(await refusal(lost, post("/v1/submit", { transactions }))).toMatchObject({ status: 403 });
    answer = (_, response) => json(response, 200, record(sender));
    expect(await refusal(lost, get(`/v1/submissions/${ID}`))).toMatchObject({ status: 404 });
  });

  it("that nobody can read, or that is too much, never reaches the service", async () => {
    const signed = await transferBy(alice);
    const many = { transactions: Array.from({ length: 11 }, () => signed) };
    const large = { transactions: ["0x".padEnd(2 ** 20, "0")] };
    const chunked = post("/v1/submit", large);
    chunked.headers.delete("content-length");
    const cases: [Request, number, string][] = [
      [post("/v1/submit", "{"), 400, "MALFORMED_JSON"],
      [post("/v1/submit", { transactions: [signed, "0x00"] }), 400, "MALFORMED_RLP"],
      [post("/v1/submit", { transactions: [`${signed.slice(0, -2)}`] }), 400, "MALFORMED_RLP"],
      [post("/v1/submit", '{"__proto__":{"transactions":["0x00"]}}'), 400, "MALFORMED_BODY"],
      [post("/v1/submit", many), 413, "BATCH_TOO_LARGE"],
      [post("/v1/submit", large), 413, "BODY_TOO_LARGE"],
      [chunked, 413, "BODY_TOO_LARGE"],
      [post("/v1/submit", many, { "content-length": "99999999" }), 413, "BODY_TOO_LARGE"],
      [post("/v1/submit", many, { "content-type": "text/plain" }), 415, "UNSUPPORTED_MEDIA_TYPE"],
      [post("/v1/submit", many, { "content-encoding": "gzip" }), 415, "UNSUPPORTED_MEDIA_TYPE"],
      [post("/v1/submit?wait=a", { transactions: [signed] }), 400, "MALFORMED_QUERY"],
      [post("/v1/submit?wait=included&wait=broadcast", { transactions: [signed] }), 400, "MALFORMED_QUERY"],
      [
        post("/v1/submit", { transactions: [signed] }, { "idempotency-key": "a b" }),
        400,
        "INVALID_IDEMPOTENCY_KEY",
      ],
    ];
    for (const [request, status, reason] of cases) {
      expect(await refusal(relayOf(), request)).toMatchObject({ status, reason });
    }
    expect(seen).toEqual([]);
  });

  it("of a page of another origin is refused, of the own or a named one it is not", async () => {
    const transactions = [await transferBy(alice)];
    const relay = relayOf({ origins: ["https://app.other.example"] });
    const from = (headers: Record<string, string>) => post("/v1/submit", { transactions }, headers);
    for (const origin of ["https://evil.example", "null", "http://app.example.evil.example", ""]) {
      expect(await refusal(relay, from({ origin }))).toMatchObject({
        status: 403,
        reason: "ORIGIN_NOT_ALLOWED",
      });
    }
    expect(await refusal(relay, from({ "sec-fetch-site": "cross-site" }))).toMatchObject({ status: 403 });
    expect(seen).toEqual([]);
    for (const origin of ["http://app.example", "https://app.other.example"]) {
      expect((await relay(from({ origin }))).status).toBe(200);
    }
  });
});

describe("a relay", () => {
  it("passes no other path, however it is written", async () => {
    const relay = relayOf({ path: "/api", accounts: () => [sender] });
    const paths = [
      ...[
        "/",
        "/api",
        "/api/",
        "/v1/submit",
        "/api/v1/policy",
        "/api/v1/ready",
        "/api/v1/health",
        "/api/v1/submit/",
      ],
      ...["/apix/v1/submit", "/api//v1/check", "/api/v1/submissions/", "/api/v1/submissions/..", "/api/docs"],
      ...[`/api/v1/submissions/${ID}/..%2f..%2f..%2fadmin`, `/api/v1/submissions/${ID}%2e`, "/api/rpc/gwp_x"],
      ...["/api/v1/submissions/%2e%2e/policy", `/api/v1/submissions/${ID}?/../../policy`.replace("?", "%3f")],
      ...[
        "/api/../v1/submit",
        "/api/v1/./../v1/policy",
        "/api/v1\\policy",
        "/api/%76%31/submit",
        "/api;/v1/check",
      ],
    ];
    for (const path of paths) {
      expect([path, await refusal(relay, get(path))]).toMatchObject([
        path,
        { status: 404, reason: "NO_SUCH_PATH" },
      ]);
    }
    expect(await refusal(relay, get("/api/v1/submit"))).toMatchObject({ status: 405 });
    expect(await refusal(relay, post("/api/v1/submissions", {}))).toMatchObject({ status: 405 });
    expect(seen).toEqual([]);
    for (const path of ["api", "/api/", "/a b", "/a?b", "//evil", "/%2e"]) {
      expect(() => relayOf({ path })).toThrow(InvalidArgumentError);
    }
    expect(() => relayOf({ apiKey: "gw_secret\r\nx: y" })).toThrow(/^(?!.*secret)/s);
  });

  it("shows the record of an id, and none of a hash, since hashes are public", async () => {
    answer = (_, response) => json(response, 200, record(sender), { "set-cookie": "a=b" });
    const response = await relayOf()(get(`/v1/submissions/${ID}?x=1`));
    expect(await response.clone().json()).toEqual(record(sender));
    expect(await shown(response)).not.toContain("cookie");
    expect(seen.map((one) => one.url)).toEqual([`/v1/submissions/${ID}`]);
    const byHash = get(`/v1/submissions/0x${"ab".repeat(32)}`);
    expect(await refusal(relayOf(), byHash)).toMatchObject({ status: 404, reason: "NO_SUCH_SUBMISSION" });
    expect(await refusal(relayOf(), get("/v1/submissions"))).toMatchObject({ status: 404 });
    expect(seen).toHaveLength(1);
  });

  it("shows those who name their accounts the records of these alone, and the same answer for all others", async () => {
    const relay = relayOf({ accounts: () => [alice.address] });
    answer = (_, response) => json(response, 200, record(TOKEN));
    const foreign = await refusal(relay, get(`/v1/submissions/${ID}`));
    answer = (_, response) =>
      json(response, 404, { error: { code: "NOT_FOUND", message: "no record of gw_x" } });
    expect(await refusal(relay, get(`/v1/submissions/${ID}`))).toEqual(foreign);
    expect(foreign).toMatchObject({ status: 404, reason: "NO_SUCH_SUBMISSION" });
    answer = (_, response) => json(response, 200, record(sender));
    expect((await relay(get(`/v1/submissions/0x${"AB".repeat(32)}`))).status).toBe(200);
    const error = { code: "PARSE_ERROR", message: "it cannot be read" };
    const refused = {
      id: ID,
      state: "failed",
      refused: true,
      certainty: "not_broadcast",
      error,
      failedAt: "",
    };
    answer = (_, response) => json(response, 200, refused);
    expect(await refusal(relay, get(`/v1/submissions/${ID}`))).toEqual(foreign);
    answer = (_, response) => json(response, 200, { ...refused, sender });
    expect(await (await relay(get(`/v1/submissions/${ID}`))).json()).toEqual({ ...refused, sender });
    seen.length = 0;
    answer = (_, response) => json(response, 200, { submissions: [] });
    for (const query of ["", `?sender=${TOKEN}`, `?txHash=0x${"ab".repeat(32)}`]) {
      expect(await refusal(relay, get(`/v1/submissions${query}`))).toMatchObject({ status: 404 });
    }
    const twice = get(`/v1/submissions?sender=${sender}&sender=${TOKEN}`);
    expect(await refusal(relay, twice)).toMatchObject({ status: 400 });
    expect(seen).toEqual([]);
    expect((await relay(get(`/v1/submissions?sender=${alice.address}&state=failed`))).status).toBe(200);
    expect(seen.map((one) => one.url)).toEqual([`/v1/submissions?sender=${sender}&state=failed&limit=50`]);
  });

  it("never shows the key, the service's address or its refusals of the key", async () => {
    const transactions = [await transferBy(alice)];
    const errors: unknown[] = [];
    const relay = relayOf({ onError: (error) => errors.push(error) });
    const send = () => refusal(relay, post("/v1/submit", { transactions }));
    const secret = { error: { code: "UNAUTHORIZED", message: `the key ${API_KEY} is revoked` } };
    answer = (_, response) => json(response, 401, secret);
    expect(await send()).toMatchObject({ status: 500, reason: "INTERNAL_ERROR" });
    answer = (_, response) => response.writeHead(302, { location: "http://evil.example" }).end();
    expect(await send()).toMatchObject({ status: 502 });
    answer = (_, response) => response.writeHead(200, { "content-type": "text/html" }).end(url);
    expect(await send()).toMatchObject({ status: 502 });
    answer = (_, response) => response.destroy();
    expect(await send()).toMatchObject({ status: 502, code: "UNAVAILABLE" });
    expect(errors).toHaveLength(4);
    expect(String(errors)).not.toContain(API_KEY);
    // The refusals of the request are the caller's business.
    answer = (_, response) =>
      json(response, 429, { error: { code: "RATE_LIMITED", message: "slow" } }, { "retry-after": "3" });
    const response = await relay(post("/v1/submit", { transactions }));
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "3"]);
  });
});

describe("nodeListener", () => {
  let relayed = "";
  const server = createServer((request, response) => {
    nodeListener(relayOf({ path: "/api" }))(request, response);
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    relayed = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it("serves the SDK over a real socket", async () => {
    const connection = createConnection({ url: `${relayed}/api` });
    const lines: unknown[] = [];
    for await (const one of submit(connection, [await transferBy(alice)])) lines.push(one);
    expect(lines).toEqual([JSON.parse(line(0))]);
  });

  it("ends the request to the service when the caller leaves, and the answer when the service breaks off", async () => {
    const closed = new Promise<void>((resolve) => {
      answer = (_, response) => {
        response.writeHead(200, { "content-type": "application/x-ndjson" }).write(line(0));
        response.once("close", resolve);
      };
    });
    const body = JSON.stringify({ transactions: [await transferBy(alice)] });
    const init = { method: "POST", headers: { "content-type": "application/json" }, body };
    const leaving = new AbortController();
    const response = await fetch(`${relayed}/api/v1/submit`, { ...init, signal: leaving.signal });
    await response.body?.getReader().read();
    leaving.abort();
    await closed;
    answer = (_, upstream) => {
      upstream
        .writeHead(200, { "content-type": "application/x-ndjson" })
        .write(line(0), () => upstream.destroy());
    };
    const broken = await fetch(`${relayed}/api/v1/submit`, init);
    await expect(broken.text()).rejects.toThrow("terminated");
  });

  it("takes the request line as a path, whatever it looks like, and the body that a framework has parsed", async () => {
    const raw = (path: string, headers: Record<string, string> = {}) =>
      new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(relayed);
        httpRequest({ hostname, port, path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        })
          .once("error", reject)
          .end();
      });
    expect(await raw(`//evil.example/api/v1/submissions/${ID}`)).toBe(404);
    expect(await raw(`http://evil.example/api/v1/submissions/${ID}`)).toBe(400);
    expect(await raw(`@evil.example/api/v1/submissions/${ID}`)).toBe(400);
    expect(await raw(`/api/v1/submissions/${ID}`, { host: "evil.example/api?" })).toBe(400);
    expect(seen).toEqual([]);
    const parsed = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      nodeListener(relayOf())(Object.assign(request, { body: JSON.parse(text) }), response);
    });
    await new Promise<void>((resolve) => parsed.listen(0, "127.0.0.1", resolve));
    const connection = createConnection({
      url: `http://127.0.0.1:${(parsed.address() as AddressInfo).port}`,
    });
    for await (const one of submit(connection, [await transferBy(alice)])) expect(one.success).toBe(true);
    parsed.closeAllConnections();
    parsed.close();
  });
});
