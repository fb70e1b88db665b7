import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { encodeResultLine, ProtocolError, type ResultLine, requestErrorBody } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { InvalidArgumentError } from "./errors.js";
import {
  ConnectionFailedError,
  createWaiverClient,
  detailsOf,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
  WaiverClientError,
} from "./index.js";

const API_KEY = "gw_test_key_secret";
const LINES: ResultLine[] = [
  { index: 1, id: "01890000-0000-7000-8000-000000000001", success: true, txHash: `0x${"ab".repeat(32)}` },
  {
    index: 0,
    id: "01890000-0000-7000-8000-000000000000",
    success: false,
    error: { code: "PARSE_ERROR", message: "„das ist kein Hex“ 🙂", reason: "INVALID_HEX" },
  },
];
const BODY = LINES.map((line) => `${encodeResultLine(line)}\n`).join("");
const FIRST_LINE = BODY.slice(0, BODY.indexOf("\n") + 1);

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

let server: Server | undefined;

/** Starts a service that answers every request with the handler. Returns its URL. */
async function serviceWith(handler: Handler): Promise<string> {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => handler(request, response, Buffer.concat(chunks).toString()));
  });
  await new Promise<void>((done) => server?.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(async () => {
  const closing = server;
  server = undefined;
  if (!closing) return;
  closing.closeAllConnections();
  await new Promise((done) => closing.close(done));
});

const clientOf = (url: string) => createWaiverClient({ url, apiKey: API_KEY });

async function collect(lines: AsyncIterable<ResultLine>): Promise<ResultLine[]> {
  const all: ResultLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

async function errorOf(work: Promise<unknown>): Promise<WaiverClientError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof WaiverClientError)) throw new Error(`not an error of the client: ${error}`);
  expect(JSON.stringify([error.message, error.stack, error, error.cause])).not.toContain(API_KEY);
  return error;
}

describe("submit", () => {
  it("sends one POST with the key and gives the lines as they are", async () => {
    const seen: unknown[] = [];
    const url = await serviceWith(({ method, url: path, headers }, response, body) => {
      seen.push([method, path, headers.authorization, headers["content-type"], JSON.parse(body)]);
      response.end(BODY);
    });
    expect(await collect(clientOf(`${url}/`).submit(["0x01", "0x02"], { wait: "included" }))).toEqual(LINES);
    expect(seen).toEqual([
      [
        "POST",
        "/v1/submit?wait=included",
        `Bearer ${API_KEY}`,
        "application/json",
        { transactions: ["0x01", "0x02"] },
      ],
    ]);
  });

  it("leaves nothing in doubt with a node, and takes no proxy whose codes are numbers for one", async () => {
    const error = { code: -32600, message: "invalid request" };
    const answers = [
      { status: 200, answer: { jsonrpc: "2.0", id: null, error }, isNode: true, inDoubt: 0 },
      { status: 400, answer: { jsonrpc: "2.0", id: null, error }, isNode: true, inDoubt: 0 },
      { status: 504, answer: { jsonrpc: "2.0", id: null, error }, isNode: true, inDoubt: 1 },
      { status: 504, answer: { error: { code: 504, message: "timeout" } }, isNode: false, inDoubt: 1 },
    ];
    let next = answers[0];
    const url = await serviceWith((_, response) =>
      response.writeHead(next?.status ?? 0).end(JSON.stringify(next?.answer)),
    );
    for (next of answers) {
      const thrown = await errorOf(collect(clientOf(url).submit(["0x01"])));
      expect(thrown).toBeInstanceOf(MalformedAnswerError);
      expect(thrown.message.includes("JSON-RPC node"), thrown.message).toBe(next.isNode);
      expect(thrown.inDoubt).toHaveLength(next.inDoubt);
    }
  });

  it("names the address behind a redirect, on which the key is lost", async () => {
    const { origin } = new URL(await serviceWith((_, response) => response.writeHead(308).end()));
    const moved = origin.replace("127.0.0.1", "localhost");
    const refusal = JSON.stringify(requestErrorBody(new ProtocolError("MISSING_KEY", "no key")));
    server?.removeAllListeners("request").on("request", ({ headers }, response) => {
      if (headers.host?.startsWith("127")) response.writeHead(308, { location: `${moved}/v1/health` }).end();
      else response.writeHead(401).end(headers.authorization ?? refusal);
    });
    const error = await errorOf(collect(clientOf(origin).submit(["0x01"])));
    expect(error).toMatchObject({ reason: "MISSING_KEY", message: expect.stringContaining(moved) });
  });

  it("adds the application's header fields, which change none of its own, and the credentials", async () => {
    const seen: unknown[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      seen.push([Object.fromEntries(new Headers(init?.headers)), init?.credentials]);
      return new Response(FIRST_LINE.replace('"index":1', '"index":0'));
    };
    let session = 0;
    const headers = () => ({
      "X-Session": `s${++session}`,
      Authorization: "Bearer mine",
      Accept: "text/html",
    });
    const own = { accept: "application/x-ndjson", "content-type": "application/json" };
    const url = "http://127.0.0.1";
    await collect(createWaiverClient({ url, fetch, headers, credentials: "include" }).submit(["0x01"]));
    await collect(createWaiverClient({ url, fetch, headers, apiKey: API_KEY }).submit(["0x01"]));
    expect(seen).toEqual([
      [{ ...own, "x-session": "s1", authorization: "Bearer mine" }, "include"],
      [{ ...own, "x-session": "s2", authorization: `Bearer ${API_KEY}` }, undefined],
    ]);
  });

  it("keeps the path of the service's address", async () => {
    let path: string | undefined;
    const url = await serviceWith((request, response) => {
      path = request.url;
      response.end(BODY);
    });
    await collect(clientOf(`${url}/waiver/`).submit(["0x01", "0x02"]));
    expect(path).toBe("/waiver/v1/submit");
  });

  it("sends nothing before iteration begins", async () => {
    let requests = 0;
    const url = await serviceWith((_, response) => {
      requests++;
      response.end(BODY);
    });
    const lines = clientOf(url).submit(["0x01", "0x02"]);
    await clientOf(url)
      .health()
      .catch(() => undefined);
    expect(requests).toBe(1);
    await collect(lines);
    expect(requests).toBe(2);
  });

  it("reads the answer wherever it is split", async () => {
    const bytes = Buffer.from(BODY);
    let at = 0;
    const url = await serviceWith((_, response) => {
      response.write(bytes.subarray(0, at), () => response.end(bytes.subarray(at)));
    });
    for (at = 1; at < bytes.length; at++) {
      expect(await collect(clientOf(url).submit(["0x01", "0x02"]))).toEqual(LINES);
    }
  });

  it("yields a line while the answer is still open, and accepts a last line without newline", async () => {
    let finish: () => void = () => undefined;
    const [first, second] = LINES.map(encodeResultLine);
    const url = await serviceWith((_, response) => {
      response.write(`${first}\n`);
      finish = () => response.end(second);
    });
    const lines = clientOf(url).submit(["0x01", "0x02"])[Symbol.asyncIterator]();
    expect((await lines.next()).value).toEqual(LINES[0]);
    finish();
    expect((await lines.next()).value).toEqual(LINES[1]);
    expect((await lines.next()).done).toBe(true);
  });

  it("closes the answer when the loop is left early", async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const url = await serviceWith((_, response) => {
      closed = new Promise((done) => response.on("close", done));
      response.write(FIRST_LINE);
    });
    for await (const line of clientOf(url).submit(["0x01", "0x02"])) {
      expect(line).toEqual(LINES[0]);
      break;
    }
    await closed;
  });

  it("throws the signal's reason when aborted, before the answer and inside it", async () => {
    const early = new AbortController();
    const late = new AbortController();
    const url = await serviceWith((request, response) => {
      if (request.url?.includes("included")) early.abort(new Error("changed my mind"));
      else response.write(FIRST_LINE);
    });
    const lines = clientOf(url).submit(["0x01"], { wait: "included", signal: early.signal });
    await expect(collect(lines)).rejects.toThrow("changed my mind");

    const open = clientOf(url).submit(["0x01", "0x02"], { signal: late.signal })[Symbol.asyncIterator]();
    await open.next();
    late.abort(new Error("too long"));
    await expect(open.next()).rejects.toThrow("too long");
  });
});

describe("errors", () => {
  it("tells the service's refusal and the pause that it asks for", async () => {
    const retryAfter = ["7", "x", new Date(Date.now() + 60_000).toUTCString()];
    const url = await serviceWith((_, response) => {
      response.writeHead(429, { "retry-after": retryAfter.shift() });
      response.end(
        JSON.stringify(requestErrorBody(new ProtocolError("RATE_EXCEEDED", "too many", { burst: 2 }))),
      );
    });
    const error = await errorOf(collect(clientOf(url).submit(["0x01"])));
    expect(error).toBeInstanceOf(RequestRefusedError);
    const refusal = { status: 429, code: "RATE_LIMITED", reason: "RATE_EXCEEDED", message: "too many" };
    expect(error).toMatchObject({ ...refusal, retryAfterMs: 7000 });
    const { details } = error as RequestRefusedError;
    expect(details).toEqual({ retry: "later", burst: 2 });
    expect(detailsOf(error as RequestRefusedError, "RATE_EXCEEDED")?.burst).toBe(2);
    expect(await errorOf(collect(clientOf(url).submit(["0x01"])))).toMatchObject({ retryAfterMs: undefined });
    const dated = await errorOf(collect(clientOf(url).submit(["0x01"])));
    expect((dated as RequestRefusedError).retryAfterMs).toBeGreaterThan(50_000);
  });

  it("tells a service that cannot be reached from one that went silent", async () => {
    const url = await serviceWith((_, response) => response.destroy());
    const silent = await errorOf(collect(clientOf(url).submit(["0x01"])));
    expect(silent).toBeInstanceOf(ConnectionFailedError);
    expect(silent).toMatchObject({ certainty: "unknown" });

    const closing = server;
    server = undefined;
    await new Promise((done) => closing?.close(done));
    expect(await errorOf(collect(clientOf(url).submit(["0x01"])))).toMatchObject({ certainty: "not_sent" });
    expect(await errorOf(clientOf(url).health())).toMatchObject({ certainty: "not_sent" });
  });

  it.each([
    ["at a line end", FIRST_LINE],
    ["inside a line", BODY.slice(0, -20)],
  ])("names the transactions without a line when the answer ends %s", async (_, body) => {
    const url = await serviceWith((_request, response) => response.end(body));
    const lines = clientOf(url).submit(["0x01", "0x02", "0x03"])[Symbol.asyncIterator]();
    expect((await lines.next()).value).toEqual(LINES[0]);
    const error = await errorOf(lines.next());
    expect(error).toBeInstanceOf(StreamEndedError);
    expect(error).toMatchObject({ missing: [0, 2] });
  });

  it("names the transactions without a line when the connection breaks, and ends as usual if there are none", async () => {
    let breakOff: () => void = () => undefined;
    let body = FIRST_LINE;
    const url = await serviceWith((_, response) => {
      response.write(body);
      breakOff = () => response.destroy();
    });
    const cut = clientOf(url).submit(["0x01", "0x02"])[Symbol.asyncIterator]();
    await cut.next();
    breakOff();
    expect(await errorOf(cut.next())).toMatchObject({ name: "StreamEndedError", missing: [0] });

    body = BODY;
    const whole = clientOf(url).submit(["0x01", "0x02"])[Symbol.asyncIterator]();
    await whole.next();
    await whole.next();
    breakOff();
    expect(await whole.next()).toEqual({ done: true, value: undefined });
  });

  it.each([
    ["is not JSON", 200, "<html>\n"],
    ["is not a result line", 200, '{"index":0}\n'],
    ["answers an index twice", 200, `${BODY}${BODY}`],
    ["answers an index that was not sent", 200, BODY.replace('"index":1', '"index":2')],
    ["is a proxy's own error", 502, "<html>Bad Gateway</html>"],
    ["is an error of another kind", 500, '{"message":"no"}'],
  ])("refuses an answer that %s", async (_, status, body) => {
    const url = await serviceWith((_request, response) => response.writeHead(status).end(body));
    const error = await errorOf(collect(clientOf(url).submit(["0x01", "0x02"])));
    expect(error).toBeInstanceOf(MalformedAnswerError);
    expect(error).toMatchObject({ status });
  });

  it("refuses an address or a key that cannot be used, without quoting the key", () => {
    for (const url of ["nonsense", "ftp://a", "http://u:p@a", "http://a?x=1"]) {
      expect(() => createWaiverClient({ url })).toThrow(InvalidArgumentError);
    }
    for (const apiKey of ["", "gw bad", "gw\nbad"]) {
      expect(() => createWaiverClient({ url: "http://a", apiKey })).toThrow(/^the API key is empty or holds/);
    }
  });
});

describe("health", () => {
  it("needs no key and sends none", async () => {
    let authorization: string | undefined;
    const url = await serviceWith((request, response) => {
      authorization = request.headers.authorization;
      response.end('{"status":"ok","version":"1.2.3","chainId":2201}');
    });
    const expected = { status: "ok", version: "1.2.3", chainId: 2201 };
    expect(await createWaiverClient({ url }).health()).toEqual(expected);
    expect(await clientOf(url).health({ signal: new AbortController().signal })).toEqual(expected);
    expect(authorization).toBeUndefined();
  });

  it("refuses another service's answer", async () => {
    const url = await serviceWith((_, response) => response.end('{"status":"fine"}'));
    expect(await errorOf(clientOf(url).health())).toBeInstanceOf(MalformedAnswerError);
  });
});
