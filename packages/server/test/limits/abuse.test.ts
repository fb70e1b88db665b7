// Abusive clients: idle connections, endless requests, and bodies that expand in memory.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { CLOSE_CODES } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { replyFrom } from "../support/rawReply.js";
import { API_KEY, OTHER_API_KEY, outcomeOf, type TestService, testServices } from "../support/testService.js";
import { TestSocket } from "../support/testSocket.js";
import { APPROVE, hashOf, innerOf } from "../support/user.js";

const services = testServices();
const HEAD = [
  "POST /v1/submit HTTP/1.1",
  "Host: x",
  `Authorization: Bearer ${API_KEY}`,
  "Content-Type: application/json",
];

function rawTo(service: TestService, lines: readonly string[], rest = ""): Socket {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(`${lines.join("\r\n")}${rest}`);
  return socket;
}

const reasonOf = (text: string) => JSON.parse(text).error.reason;
let users = 0;

/** Checks that a request of another client works. */
async function expectServed(service: TestService): Promise<void> {
  expect((await service.submit([innerOf(++users)])).map(outcomeOf)).toEqual(["success"]);
}

async function metered(service: TestService): Promise<(name: string) => Promise<number>> {
  const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
  return async (name) => {
    const text = await (await fetch(`${url}/metrics`)).text();
    return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
  };
}

describe("idle connections", () => {
  it("200 open WebSockets are counted, and do not affect requests", async () => {
    const service = await services.start();
    const metric = await metered(service);
    const sockets = await Promise.all(Array.from({ length: 200 }, () => TestSocket.open(service)));
    expect(await metric("gas_waiver_open_sockets")).toBe(200);
    expect(await metric("gas_waiver_open_connections")).toBeGreaterThanOrEqual(200);
    await expectServed(service);
    sockets[0]?.send({ id: 1, watch: [] });
    expect(await sockets[0]?.next()).toEqual({ request: 1, done: true });
    for (const { socket } of sockets) socket.terminate();
  });

  it("WebSockets above the key's limit: 503 until one is closed, while another key has room", async () => {
    const service = await services.start({ maxKeySockets: 2, maxSockets: 3 });
    const [first] = await Promise.all([TestSocket.open(service), TestSocket.open(service)]);
    const handshake = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    };
    const requestHandshake = (key: string) =>
      service.call("GET", "/v1/submit", undefined, { ...handshake, authorization: `Bearer ${key}` });
    const ofKey = await requestHandshake(API_KEY);
    expect([ofKey.status, reasonOf(ofKey.text)]).toEqual([503, "SOCKETS_AT_CAPACITY"]);
    expect(ofKey.headers["retry-after"]).toBe("1");
    const other = await TestSocket.open(service, OTHER_API_KEY);
    const ofAll = await requestHandshake(OTHER_API_KEY);
    expect([ofAll.status, reasonOf(ofAll.text)]).toEqual([503, "SOCKETS_AT_CAPACITY"]);
    expect(JSON.parse(ofAll.text).error.details).toEqual({ retry: "later", capacity: expect.any(Number) });
    first?.socket.close();
    await first?.closed;
    const again = await TestSocket.open(service);
    for (const { socket } of [again, other]) socket.terminate();
  });

  it("at the limit, a new connection replaces one of the key that has more than half, where all have shown a key", async () => {
    const service = await services.start({ maxConnections: 2 });
    const metric = await metered(service);
    const open = [rawTo(service, []), rawTo(service, [])];
    const closed = Promise.race(open.map((socket) => once(socket, "close")));
    for (const socket of open) {
      socket.write(`GET /v1/policy HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${API_KEY}\r\n\r\n`);
      await once(socket, "data");
      socket.resume();
    }
    await expectServed(service);
    await closed;
    expect(open.filter((socket) => socket.closed)).toHaveLength(1);
    expect(await metric("gas_waiver_dropped_connections_total")).toBe(1);
    for (const socket of open) socket.destroy();
  });

  it("at the limit, a new connection replaces the oldest one that has shown no valid key", async () => {
    const service = await services.start({ maxConnections: 3 });
    const withKey = await TestSocket.open(service);
    const idle = rawTo(service, []);
    const keyless = rawTo(service, [
      "GET /v1/policy HTTP/1.1",
      "Host: x",
      "Authorization: Bearer gw_bad",
      "",
      "",
    ]);
    await once(keyless, "data");
    const closed = Promise.all([once(idle, "close"), once(keyless, "close")]);
    await expectServed(service);
    await expectServed(service);
    const third = rawTo(service, []);
    const fourth = rawTo(service, []);
    await closed;
    withKey.send({ id: 1, watch: [] });
    expect(await withKey.next()).toEqual({ request: 1, done: true });
    for (const socket of [third, fourth, withKey.socket])
      "destroy" in socket ? socket.destroy() : socket.terminate();
  });
});

describe("an unfinished request", () => {
  it("gets 408 if the head does not end", async () => {
    const service = await services.start({ headTimeoutMs: 1_000 });
    const slow = rawTo(service, [...HEAD, "X-More: a"]);
    await expectServed(service);
    const reply = await replyFrom(slow);
    expect([reply.status, reasonOf(reply.text)]).toEqual([408, "REQUEST_TOO_SLOW"]);
  });

  it("gets 408 if the body comes byte by byte, and frees its memory", async () => {
    const limits = { headTimeoutMs: 1_000, bodyTimeoutMs: 1_000, maxBodyBytes: 60_000, maxHeldBytes: 65_536 };
    const service = await services.start(limits);
    const slow = rawTo(service, [...HEAD, "Content-Length: 50000", "", ""], "{");
    const dripping = setInterval(() => slow.write(" "), 20);
    const reply = await replyFrom(slow);
    clearInterval(dripping);
    expect([reply.status, reasonOf(reply.text)]).toEqual([408, "REQUEST_TOO_SLOW"]);
    // This body has no room beside the first one, whose memory is freed a moment later.
    const body = JSON.stringify({ transactions: [innerOf(++users)], padding: "x".repeat(30_000) });
    while ((await service.post(body)).status === 503);
    await expectServed(service);
  });

  it("closes its WebSocket with 1008", async () => {
    const service = await services.start({ headTimeoutMs: 1_000, bodyTimeoutMs: 1_000 });
    const slow = await TestSocket.open(service);
    slow.socket.send('{"id":1,', { fin: false });
    const closeEvent = once(slow.socket, "close");
    expect(await slow.closed).toBe(CLOSE_CODES.policyViolation);
    expect(String((await closeEvent)[1])).toContain("within 1 seconds");
    await expectServed(service);
  });
});

describe("bodies that are too large together", () => {
  it("get 503 until the first is gone, while another key has room", async () => {
    const service = await services.start({ maxBodyBytes: 40_000, maxHeldBytes: 100_000 });
    const first = rawTo(service, [...HEAD, "Content-Length: 40000", "", ""], "{");
    const body = JSON.stringify({ transactions: [innerOf(++users)], padding: "x".repeat(30_000) });
    // Repeats until the bytes of the first one have arrived.
    let reply = await service.post(body);
    while (reply.status === 200) reply = await service.post(body);
    expect([reply.status, reasonOf(reply.text)]).toEqual([503, "BODIES_AT_CAPACITY"]);
    expect(JSON.parse(reply.text).error.details).toEqual({ retry: "later", capacity: expect.any(Number) });
    expect(reply.headers["retry-after"]).toBe("1");
    const other = { headers: { authorization: `Bearer ${OTHER_API_KEY}` } };
    expect((await service.post(body, other)).status).toBe(200);
    first.destroy();
    while ((await service.post(body)).status === 503);
    await expectServed(service);
  });

  it("are not read without a key on an unknown path", async () => {
    const service = await services.start();
    const keyless = rawTo(service, [
      "POST /v1/nothing HTTP/1.1",
      "Host: x",
      "Content-Type: application/json",
      "Content-Length: 30000000",
      "",
      "",
    ]);
    const reply = await replyFrom(keyless);
    expect([reply.status, reasonOf(reply.text)]).toEqual([404, "NO_SUCH_PATH"]);
  });

  it("are accepted as one batch of the largest transactions", async () => {
    const service = await services.start();
    const data = new Uint8Array(130_786);
    data.set(APPROVE);
    const batch = Array.from({ length: 100 }, () => innerOf(++users, 0, { data, gasLimit: 2_000_000n }));
    const body = JSON.stringify({ transactions: batch });
    expect(body.length).toBeGreaterThan(26_000_000);
    const lines = await service.submit(batch);
    expect(lines.map(outcomeOf)).toEqual(batch.map(() => "success"));
  });
});

describe("a body in chunks of one byte", () => {
  it("is read like any other", async () => {
    const service = await services.start();
    const transaction = innerOf(++users);
    const body = JSON.stringify({ transactions: [transaction] });
    const chunks = [...body].map((byte) => `1\r\n${byte}\r\n`).join("");
    const socket = rawTo(service, [...HEAD, "Transfer-Encoding: chunked", "Connection: close", "", ""]);
    socket.write(`${chunks}0\r\n\r\n`);
    let text = "";
    for await (const part of socket.setEncoding("utf8")) text += part;
    expect(text).toContain(hashOf(transaction));
  });
});

describe("a body in very many chunks of one byte", () => {
  it("is refused before its end, and its connection closed", async () => {
    const service = await services.start();
    const socket = rawTo(service, [...HEAD, "Transfer-Encoding: chunked", "", ""]);
    socket.write("1\r\n \r\n".repeat(20_000));
    const reply = await replyFrom(socket);
    expect([reply.status, reasonOf(reply.text)]).toEqual([400, "MALFORMED_BODY"]);
    expect(reply.headers.connection).toBe("close");
    await expectServed(service);
  });
});

describe("JSON that expands in memory", () => {
  const shared = services.shared();

  it.each([
    ["objects", "{},", "{}"],
    ["arrays", "[],", "[]"],
    ["numbers", "0,", "0"],
    ["levels of depth", "[", `${"]".repeat(300_000)}0`],
  ])("of very many %s: 400 over HTTP, and an error frame over WebSocket", async (_, element, last) => {
    const service = shared();
    const many = `[${element.repeat(300_000)}${last}]`;
    const reply = await service.post(`{"transactions":${many}}`);
    expect([reply.status, reasonOf(reply.text)]).toEqual([400, "MALFORMED_BODY"]);
    const client = await TestSocket.open(service);
    client.send(`{"id":1,"transactions":${many}}`);
    expect(await client.next()).toMatchObject({ request: null, error: { reason: "MALFORMED_BODY" } });
    client.send({ id: 2, watch: [] });
    expect(await client.next()).toEqual({ request: 2, done: true });
    client.socket.close();
  });

  it.each([
    ["a lone surrogate", '"\\ud800"', "PARSE_ERROR/INVALID_HEX"],
    ["a text of a million characters", `"${"z".repeat(1_000_000)}"`, "PARSE_ERROR/INVALID_HEX"],
  ])("in a transaction, %s: an error in its line", async (_, transaction, outcome) => {
    const reply = await shared().post(`{"transactions":[${transaction}]}`);
    expect(outcomeOf(JSON.parse(reply.text))).toBe(outcome);
  });

  it.each([
    ["too large for a double", "1e400"],
    ["of 50,000 digits", "9".repeat(50_000)],
    ["too small for a double", "-1e-400"],
  ])("a number %s in place of a transaction: 400", async (_, number) => {
    const reply = await shared().post(`{"transactions":[${number}]}`);
    expect([reply.status, reasonOf(reply.text)]).toEqual([400, "MALFORMED_BODY"]);
    expect(reply.text.length).toBeLessThan(1_000);
  });

  it("a lone surrogate in a request's id comes back unchanged", async () => {
    const client = await TestSocket.open(shared());
    client.send('{"id":"\\ud800","watch":[]}');
    expect(await client.next()).toEqual({ request: "\ud800", done: true });
    client.send('{"id":1,"watch":[],"id":2}');
    expect(await client.next()).toEqual({ request: 2, done: true });
    client.socket.close();
  });
});

describe("a WebSocket that sends", () => {
  const shared = services.shared();

  it("a frame in very many chunks is closed with 1008", async () => {
    const client = await TestSocket.open(shared());
    for (let i = 0; i < 5_000; i++) client.socket.send("x", { fin: false });
    expect(await client.closed).toBe(CLOSE_CODES.policyViolation);
    await expectServed(shared());
  });

  it("a frame in empty fragments is closed with 1008 and a reason", async () => {
    const client = await TestSocket.open(shared());
    const closeEvent = once(client.socket, "close");
    client.socket.send("x", { fin: false });
    for (let i = 0; i < 20_000; i++) client.socket.send("", { fin: false });
    expect(await client.closed).toBe(CLOSE_CODES.policyViolation);
    expect(String((await closeEvent)[1])).toContain("too many pieces");
    await expectServed(shared());
  });

  it("endless pings is closed with 1008 and a reason", async () => {
    const client = await TestSocket.open(shared());
    const closeEvent = once(client.socket, "close");
    for (let i = 0; i < 2_000; i++) client.socket.ping("x".repeat(125), true, () => {});
    expect(await client.closed).toBe(CLOSE_CODES.policyViolation);
    expect(String((await closeEvent)[1])).toContain("pings");
    await expectServed(shared());
  });

  it("requests under one id, again and again, is answered each time", async () => {
    const service = await services.start({ maxBodyBytes: 2_000 }, { automine: false });
    const client = await TestSocket.open(service);
    client.send({ id: 1, transactions: [innerOf(++users)], wait: "included" });
    for (let i = 0; i < 20; i++) {
      client.send({ id: 1, watch: ["x".repeat(1_000)] });
      expect(await client.next()).toMatchObject({ request: null, error: { reason: "DUPLICATE_REQUEST_ID" } });
    }
    client.socket.terminate();
  });
});
