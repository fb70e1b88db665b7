// The WebSocket (D23), through a running service.
import { once } from "node:events";
import { connect } from "node:net";
import { CLOSE_CODES } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { API_KEY, OTHER_API_KEY, type TestService, testServices } from "../support/testService.js";
import { type Frame, TestSocket } from "../support/testSocket.js";
import { hashOf, innerOf } from "../support/user.js";

const services = testServices();
const reasonOf = (frame: Frame | undefined) => (frame?.error as Frame | undefined)?.reason;

/** @returns the whole response to bytes on a connection of their own. */
async function answerTo(service: TestService, head: string[], body = ""): Promise<string> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(`${[...head, "", ""].join("\r\n")}${body}`);
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) {
    text += chunk;
    const [before = "", after = ""] = text.split("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(before)?.[1] ?? Number.NaN);
    if (Buffer.byteLength(after) >= length || /\r\n0\r\n/.test(text)) break;
  }
  socket.destroy();
  return text;
}

const HANDSHAKE = [
  "Connection: keep-alive, Upgrade",
  "Upgrade: WebSocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

describe("requests over one WebSocket", () => {
  const shared = services.shared();

  it("get their result lines with the request's id, then done", async () => {
    const client = await TestSocket.open(shared());
    client.send({ id: "a", transactions: [innerOf(1), "0x"] });
    const frames = await client.framesOfRequest();
    expect(frames).toHaveLength(3);
    expect(frames.map((frame) => JSON.stringify(frame)).slice(0, 2)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^\{"request":"a","index":0,"id":"[0-9a-f-]{36}","success":true,"txHash":"0x/),
        expect.stringMatching(
          /^\{"request":"a","index":1,"id":"[0-9a-f-]{36}","success":false,"error":\{"code":/,
        ),
      ]),
    );
    expect(frames[2]).toEqual({ request: "a", done: true });
    client.socket.close();
  });

  it("may be in flight together, each answered under its own id", async () => {
    const client = await TestSocket.open(shared());
    for (let id = 1; id <= 20; id++) client.send({ id, transactions: [innerOf(100 + id)] });
    const hashes = new Map<unknown, unknown>();
    for (let done = 0; done < 20; ) {
      const frame = await client.next();
      if (frame.done === true) done++;
      else hashes.set(frame.request, frame.txHash);
    }
    for (let id = 1; id <= 20; id++) expect(hashes.get(id)).toBe(hashOf(innerOf(100 + id)));
    client.socket.close();
  });

  it.each(["9007199254740993", "-9007199254740993", "123456789012345678901234567890", "1.50", "1e300"])(
    "have their id as they wrote it: %s",
    async (id) => {
      const client = await TestSocket.open(shared());
      const texts: string[] = [];
      client.socket.on("message", (data) => texts.push(String(data)));
      client.send(`{"id":${id},"transactions":["0x"]}`);
      await client.framesOfRequest();
      client.send(`{"transactions":[],"id":${id}}`);
      await client.framesOfRequest();
      expect(texts.map((text) => text.slice(0, `{"request":${id},`.length))).toEqual(
        Array(3).fill(`{"request":${id},`),
      );
      client.socket.close();
    },
  );

  it.each([
    ["an id of 257 digits", `{"id":0.${"1".repeat(255)},"transactions":["0x"]}`, null, "MALFORMED_BODY"],
    ["not JSON", "{", null, "MALFORMED_JSON"],
    ["not an object", "[]", null, "MALFORMED_BODY"],
    ["a watch without an id", { watch: ["0x"] }, null, "MALFORMED_BODY"],
    ["neither an id nor transactions", {}, null, "MALFORMED_BODY"],
    ["an empty batch without an id", { transactions: [] }, null, "EMPTY_BATCH"],
    ["an id that is null", { id: null, transactions: ["0x"] }, null, "MALFORMED_BODY"],
    ["an id that is neither text nor number", { id: {}, transactions: ["0x"] }, null, "MALFORMED_BODY"],
    ["an id of 257 characters", { id: "x".repeat(257), transactions: ["0x"] }, null, "MALFORMED_BODY"],
    ["an infinite id", '{"id":1e999,"transactions":["0x"]}', null, "MALFORMED_BODY"],
    ["nothing to do", { id: 7 }, 7, "MALFORMED_BODY"],
    ["both transactions and watch", { id: 7, transactions: ["0x"], watch: [] }, 7, "MALFORMED_BODY"],
    ["no transactions", { id: 7, transactions: [] }, 7, "EMPTY_BATCH"],
    ["too many", { id: 7, transactions: Array(101).fill("0x") }, 7, "BATCH_TOO_LARGE"],
    ["too many to watch", { id: 7, watch: Array(101).fill("x") }, 7, "BATCH_TOO_LARGE"],
    ["an unknown wait", { id: 7, transactions: ["0x"], wait: "for it" }, 7, "MALFORMED_QUERY"],
    ["watched numbers", { id: 7, watch: [1] }, 7, "MALFORMED_BODY"],
    ["depth", `{"id":7,"transactions":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, 7, "MALFORMED_BODY"],
    ["members of the prototype", '{"id":7,"__proto__":{"transactions":["0x"]}}', 7, "MALFORMED_BODY"],
  ])("%s: get an error frame, and the connection stays open", async (_, frame, request, reason) => {
    const client = await TestSocket.open(shared());
    client.send(frame);
    const answer = await client.next();
    expect([answer.request, reasonOf(answer)]).toEqual([request, reason]);
    client.send({ id: 8, transactions: ["0x"] });
    expect((await client.framesOfRequest()).at(-1)).toEqual({ request: 8, done: true });
    client.socket.close();
  });

  it("may be the body of a POST without an id, one at a time: their `request` is null", async () => {
    const service = await services.start({}, { automine: false });
    const client = await TestSocket.open(service);
    client.send({ transactions: [innerOf(1)], wait: "included" });
    client.send({ transactions: [innerOf(2)] });
    const refusal = await client.next();
    expect([refusal.request, reasonOf(refusal)]).toEqual([null, "DUPLICATE_REQUEST_ID"]);
    client.send({ id: 1, transactions: [innerOf(3)] });
    expect(await client.framesOfRequest()).toMatchObject([{ request: 1, success: true }, { done: true }]);
    await service.node.until(({ chain }) => chain.pending.length === 2);
    service.node.mine();
    expect(await client.framesOfRequest()).toMatchObject([
      { request: null, index: 0, success: true, txHash: hashOf(innerOf(1)) },
      { request: null, done: true },
    ]);
    client.send({ transactions: [innerOf(2)] });
    expect(await client.framesOfRequest()).toMatchObject([{ request: null, success: true }, { done: true }]);
    client.socket.close();
  });

  it("ignore a `__proto__` member as any unknown one", async () => {
    const client = await TestSocket.open(shared());
    client.send(
      '{"__proto__":{"transactions":[]},"id":1,"transactions":["0x"],"constructor":{"prototype":{}}}',
    );
    expect((await client.framesOfRequest()).at(-1)).toEqual({ request: 1, done: true });
    client.socket.close();
  });

  it("in a binary frame are refused, and the connection stays open", async () => {
    const client = await TestSocket.open(shared());
    client.socket.send(Buffer.from('{"id":1,"transactions":["0x"]}'));
    const answer = await client.next();
    expect([answer.request, reasonOf(answer)]).toEqual([null, "MALFORMED_BODY"]);
    client.send({ id: 1, watch: [] });
    expect(await client.next()).toEqual({ request: 1, done: true });
    client.socket.close();
  });
});

describe("watch", () => {
  it("gives the lines of this key's earlier submissions, and an error in place of any other id", async () => {
    const service = await services.start();
    const [own] = await service.submit([innerOf(1)]);
    const headers = { authorization: `Bearer ${OTHER_API_KEY}` };
    const [foreign] = await service.submit([innerOf(2)], { headers });
    const client = await TestSocket.open(service);
    client.send({ id: 1, watch: [foreign?.id, own?.id.toUpperCase(), "no id", own?.id] });
    const frames = await client.framesOfRequest();
    const lines = frames.slice(0, -1).sort((a, b) => Number(a.index) - Number(b.index));
    expect(lines.map((line) => line.txHash ?? reasonOf(line))).toEqual([
      "UNKNOWN_SUBMISSION",
      hashOf(innerOf(1)),
      "UNKNOWN_SUBMISSION",
      hashOf(innerOf(1)),
    ]);
    expect(lines[1]).toMatchObject({ request: 1, index: 1, id: own?.id, success: true });
    client.socket.close();
  });

  it("waits for inclusion if the request says so", async () => {
    const service = await services.start({}, { automine: false });
    const [line] = await service.submit([innerOf(1)]);
    const client = await TestSocket.open(service);
    client.send({ id: "now", watch: [line?.id] });
    expect((await client.framesOfRequest())[0]).toMatchObject({ request: "now", success: true });
    client.send({ id: "later", watch: [line?.id], wait: "included" });
    client.send({ id: "sign of life", watch: [] });
    expect(await client.next()).toEqual({ request: "sign of life", done: true });
    service.node.mine();
    expect(await client.framesOfRequest()).toMatchObject([
      { request: "later", success: true },
      { done: true },
    ]);
    client.socket.close();
  });
});

describe("limits of a WebSocket", () => {
  it("requests in flight: one too many is refused, and accepted when there is room", async () => {
    const service = await services.start({ maxSocketRequests: 2 }, { automine: false });
    const client = await TestSocket.open(service);
    client.send({ id: 1, transactions: [innerOf(1)], wait: "included" });
    client.send({ id: 2, transactions: [innerOf(2)], wait: "included" });
    client.send({ id: 3, transactions: [innerOf(3)] });
    const refusal = await client.next();
    const details = { retry: "later", capacity: 2 };
    expect(refusal).toMatchObject({
      request: 3,
      error: { code: "QUEUE_FULL", reason: "CONNECTION_FULL", details },
    });
    await service.node.until(({ chain }) => chain.pending.length === 2);
    service.node.mine();
    await client.framesOfRequest();
    client.send({ id: 3, transactions: [innerOf(3)] });
    await service.node.until(({ chain }) => chain.pending.length === 1);
    client.socket.close();
  });

  it("an id in use is refused with a null id, and the request that has the id goes on", async () => {
    const service = await services.start({}, { automine: false });
    const client = await TestSocket.open(service);
    client.send({ id: 1, transactions: [innerOf(1)], wait: "included" });
    client.send({ id: 1, transactions: [innerOf(2)] });
    const refusal = await client.next();
    expect([refusal.request, reasonOf(refusal)]).toEqual([null, "DUPLICATE_REQUEST_ID"]);
    await service.node.until(({ chain }) => chain.pending.length === 1);
    service.node.mine();
    expect(await client.framesOfRequest()).toMatchObject([
      { request: 1, success: true },
      { request: 1, done: true },
    ]);
    client.socket.close();
  });

  it("the key's rate holds over WebSocket and POST together", async () => {
    const service = await services.start({ ratePerSecond: 1, rateBurst: 100, maxBatchSize: 100 });
    await service.submit([innerOf(1), ...Array(49).fill("0x")]);
    const client = await TestSocket.open(service);
    client.send({ id: 1, transactions: [innerOf(2), ...Array(99).fill("0x")] });
    expect(reasonOf(await client.next())).toBe("RATE_EXCEEDED");
    expect(await service.rows()).toHaveLength(1);
    client.socket.close();
  });

  it("a frame larger than maxBodyBytes: 1009, in one piece or in fragments", async () => {
    const service = await services.start({ maxBodyBytes: 2_048 });
    const whole = await TestSocket.open(service);
    whole.send("x".repeat(2_049));
    expect(await whole.closed).toBe(CLOSE_CODES.messageTooBig);
    const pieces = await TestSocket.open(service);
    for (let i = 0; i < 3; i++) pieces.socket.send("x".repeat(1_000), { fin: false });
    expect(await pieces.closed).toBe(CLOSE_CODES.messageTooBig);
  });
});

describe("the handshake", () => {
  const shared = services.shared();

  it.each([
    ["no key", [], 401, "MISSING_KEY"],
    ["a bad key", ["Authorization: Bearer gw_test_bad_secret"], 401, "UNKNOWN_KEY"],
  ])("with %s: an HTTP error (D21) instead of the upgrade", async (_, fields, status, reason) => {
    const answer = await answerTo(shared(), ["GET /v1/submit HTTP/1.1", "Host: x", ...HANDSHAKE, ...fields]);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/www-authenticate: Bearer/i);
    expect(answer).toContain(`"reason":"${reason}"`);
  });

  it.each([
    ["no handshake", []],
    ["a handshake of another version", [...HANDSHAKE.slice(0, 2), "Sec-WebSocket-Version: 7"]],
    [
      "a handshake of version 8",
      [...HANDSHAKE.slice(0, 2), "Sec-WebSocket-Version: 8", ...HANDSHAKE.slice(3)],
    ],
    ["a handshake without a version", [...HANDSHAKE.slice(0, 2), ...HANDSHAKE.slice(3)]],
    ["a handshake without a key", HANDSHAKE.slice(0, 3)],
  ])("with %s: 426", async (_, fields) => {
    const head = ["GET /v1/submit HTTP/1.1", "Host: x", `Authorization: Bearer ${API_KEY}`, ...fields];
    const answer = await answerTo(shared(), head);
    expect(answer).toMatch(/^HTTP\/1.1 426 /);
    expect(answer).toMatch(/upgrade: websocket/i);
    expect(answer).toMatch(/sec-websocket-version: 13\r\n/i);
    expect(answer).toContain('"reason":"UPGRADE_REQUIRED"');
  });

  it("with subprotocols: none is chosen", async () => {
    const { port, hostname } = new URL(shared().url);
    const socket = connect(Number(port), hostname);
    const fields = [`Authorization: Bearer ${API_KEY}`, "Sec-WebSocket-Protocol: graphql-ws, chat"];
    const head = ["GET /v1/submit HTTP/1.1", "Host: x", ...HANDSHAKE, ...fields];
    socket.write([...head, "", ""].join("\r\n"));
    const [answer] = await once(socket.setEncoding("latin1"), "data");
    socket.destroy();
    expect(answer).toMatch(/^HTTP\/1.1 101 /);
    expect(answer).not.toMatch(/sec-websocket-protocol/i);
  });

  it("of another path or method: answered as a plain request", async () => {
    const other = await answerTo(shared(), ["GET /v1/other HTTP/1.1", "Host: x", ...HANDSHAKE]);
    expect(other).toMatch(/^HTTP\/1.1 404 /);
    const health = await answerTo(shared(), ["GET /v1/health HTTP/1.1", "Host: x", ...HANDSHAKE]);
    expect(health).toMatch(/^HTTP\/1.1 200 /);
  });

  it("a POST that offers HTTP/2 is answered like any other", async () => {
    const body = JSON.stringify({ transactions: [innerOf(50)] });
    const answer = await answerTo(
      shared(),
      [
        ...["POST /v1/submit HTTP/1.1", "Host: x", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"],
        ...["HTTP2-Settings: AAMAAABkAAQAAP__", `Authorization: Bearer ${API_KEY}`],
        ...["Content-Type: application/json", `Content-Length: ${body.length}`],
      ],
      body,
    );
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer).toContain(hashOf(innerOf(50)));
  });
});

describe("the shutdown of the service", () => {
  it("answers open lines, then closes with 1012, and refuses requests that come in the meantime", async () => {
    const service = await services.start({ shutdownMs: 20_000 }, { automine: false });
    const client = await TestSocket.open(service);
    client.send({ id: 1, transactions: [innerOf(1)], wait: "included" });
    await service.until("select 1 from submissions where state = 'broadcast'");
    // The shutdown lasts until the node has answered.
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const sending = service.node.nextCall("eth_sendRawTransaction");
    client.send({ id: 2, transactions: [innerOf(2)], wait: "included" });
    await sending;
    const closing = service.server.close();
    client.send({ id: 3, transactions: [innerOf(3)] });
    const refusal = await client.next();
    expect([refusal.request, reasonOf(refusal)]).toEqual([3, "SHUTTING_DOWN"]);
    nodeAnswer.resolve();
    await service.node.until(({ chain }) => chain.pending.length === 2);
    service.node.mine();
    const frames = [...(await client.framesOfRequest()), ...(await client.framesOfRequest())];
    for (const id of [1, 2]) {
      expect(frames.filter(({ request }) => request === id)).toMatchObject([
        { index: 0, success: true },
        { done: true },
      ]);
    }
    expect(await client.closed).toBe(CLOSE_CODES.serviceRestart);
    await closing;
  });

  it("does not wait for a client that does not read", async () => {
    const service = await services.start();
    const client = await TestSocket.open(service);
    client.socket.pause();
    await service.server.close();
    client.socket.resume();
    // The close frame arrives late, or not at all.
    expect([CLOSE_CODES.serviceRestart, 1006]).toContain(await client.closed);
  });
});

describe("a client that leaves", () => {
  it("cancels no submission", async () => {
    const service = await services.start({}, { automine: false });
    const client = await TestSocket.open(service);
    client.send({ id: 1, transactions: [innerOf(1)], wait: "included" });
    await service.until("select 1 from submissions where state = 'broadcast'");
    client.socket.terminate();
    service.node.mine();
    await service.until("select 1 from submissions where state = 'included'");
  });
});
