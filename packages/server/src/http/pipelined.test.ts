// Pipelining: a client sends requests without waiting for the responses before (RFC 9112, 9.3.2).
import { type AddressInfo, connect, type Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { callerOf } from "../../test/support/callers.js";
import { deferred } from "../../test/support/deferred.js";
import { createLog } from "../model/telemetry/log.js";
import { createProcessMetrics } from "../model/telemetry/processMetrics.js";
import { requireApiKey } from "./authenticator.js";
import { createBaseApp } from "./base.js";
import { sendChunks } from "./body/sendChunks.js";
import { BodyMemoryBudget } from "./limits/bodyMemoryBudget.js";
import { createPort } from "./port/port.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/**
 * Starts a listener with five paths: `/slow` answers two lines, the second when the test allows it; `/read` reads a body;
 * `/hold` reads one and never answers; `/large` answers without end; `/waiting` never has its first line. `begun` has
 * the paths of the requests that were handed to the routes.
 */
async function start() {
  const bodyMemory = new BodyMemoryBudget(100_000, 100_000);
  const log = createLog("silent");
  const network = createBaseApp({
    log,
    maxBodyBytes: 100_000,
    bodyMemory,
    routes: [],
  });
  const { signal } = new AbortController();
  const grant = { caller: callerOf("a"), signal };
  const sending = { encode: (chunk: Buffer) => chunk, signal };
  const begun: string[] = [];
  network.addHook("onRequest", async ({ url }) => void begun.push(url));
  requireApiKey(network, { authenticate: () => grant });
  const [first, second, read, left] = [deferred(), deferred(), deferred<Socket>(), deferred()];
  network.get("/slow", (_request, reply) =>
    sendChunks(
      reply,
      (async function* () {
        yield Buffer.from("one\n");
        first.resolve();
        await second.promise;
        yield Buffer.from("two\n");
      })(),
      sending,
    ),
  );
  network.post("/read", ({ raw }) => {
    read.resolve(raw.socket);
    return { read: true };
  });
  network.post("/hold", ({ raw }) => {
    read.resolve(raw.socket);
    return new Promise(() => {});
  });
  network.get("/large", async ({ raw }, reply) => {
    read.resolve(raw.socket);
    const chunks = (async function* () {
      while (true) yield Buffer.alloc(65_536);
    })();
    await sendChunks(reply, chunks, sending);
    left.resolve();
  });
  network.get("/waiting", ({ raw }, reply) => {
    read.resolve(raw.socket);
    const items = {
      next: () => new Promise<IteratorResult<Buffer>>(() => {}),
      return: async () => {
        left.resolve();
        return { done: true as const, value: undefined };
      },
    };
    return sendChunks(reply, { [Symbol.asyncIterator]: () => items }, sending);
  });
  await network.ready();
  const { app } = createPort({
    ...{ log, metrics: createProcessMetrics(new Registry()), limits: { keylessMs: 60_000 } },
    places: [{ name: "", path: "/", hosts: [], app: () => ({ app: network }) }],
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  closing.push(() => app.close());
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  closing.push(async () => void socket.destroy());
  return { app, bodyMemory, socket, begun, first, second, read, left };
}

/** @returns all text that arrives until the connection ends. */
async function readAll(socket: Socket): Promise<string> {
  let text = "";
  for await (const part of socket.setEncoding("utf8")) text += part;
  return text;
}

const SLOW = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";
const head = (...lines: string[]) => [...lines, "Host: x", "", ""].join("\r\n");

const BODY = JSON.stringify({ more: "x".repeat(50_000) });
const POST = `${head("POST /read HTTP/1.1", "Content-Type: application/json", `Content-Length: ${BODY.length}`)}${BODY}`;

describe("a request behind another one on its connection", () => {
  it("begins when the response before it has left", async () => {
    const { bodyMemory, socket, first, second, read } = await start();
    let hasBegun = false;
    void read.promise.then(() => {
      hasBegun = true;
    });
    socket.write(`${SLOW}${POST}`);
    await first.promise;
    // The connection's next chunk, which is not read while a request waits.
    socket.write(POST);
    await new Promise((resolve) => setImmediate(resolve));
    expect([hasBegun, bodyMemory.reservedBytes]).toEqual([false, 0]);
    second.resolve();
    await read.promise;
  });

  it("never begins when the client has left", async () => {
    const { app, socket, begun, first, second } = await start();
    const connected = new Promise<Socket>((resolve) =>
      app.server.once("request", ({ socket: accepted }) => resolve(accepted)),
    );
    socket.write(`${SLOW}${head("GET /none HTTP/1.1")}`);
    const accepted = await connected;
    await first.promise;
    accepted.destroy();
    await new Promise((resolve) => accepted.once("close", resolve));
    second.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    // Some versions of Node close also the response of a request that has not begun, so its closing says nothing.
    expect(begun).toEqual(["/slow"]);
  });
});

describe("a client that leaves", () => {
  it("frees the memory of its body", async () => {
    const { bodyMemory, socket, read } = await start();
    socket.write(POST.replace("/read", "/hold"));
    const accepted = await read.promise;
    expect(bodyMemory.reservedBytes).toBeGreaterThan(50_000);
    socket.destroy();
    await new Promise((resolve) => accepted.once("close", resolve));
    expect(bodyMemory.reservedBytes).toBe(0);
  });

  it("ends a response that waits for room to write", async () => {
    const { socket, read, left } = await start();
    socket.write(head("GET /large HTTP/1.1"));
    await read.promise;
    socket.destroy();
    await left.promise;
  });

  it("ends the source of a response that waits for its next line", async () => {
    const { socket, read, left } = await start();
    socket.write(head("GET /waiting HTTP/1.1"));
    await read.promise;
    socket.destroy();
    await left.promise;
  });
});

describe("bytes that are not an HTTP request", () => {
  const malformed = ({ server }: FastifyInstance) =>
    new Promise((resolve) => server.once("clientError", resolve));
  const chunked = (rest: string) =>
    `${head("POST /read HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked")}${rest}`;

  it("after a good request end the connection when the good request is answered", async () => {
    const { app, socket, begun, first, second } = await start();
    const detected = malformed(app);
    socket.write(SLOW);
    await first.promise;
    socket.write("GARBAGE\r\n\r\n");
    await detected;
    second.resolve();
    const [before, ...behind] = (await readAll(socket)).split("\r\n\r\n");
    expect(before).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(behind).toEqual(["4\r\none\n\r\n4\r\ntwo\n\r\n0", ""]);
    expect(begun).toEqual(["/slow"]);
  });

  it("in a body end the connection when the request before is answered, and its own is refused", async () => {
    const { socket, begun, first, second } = await start();
    socket.write(SLOW);
    await first.promise;
    socket.write(chunked("zz\r\n"));
    second.resolve();
    const text = await readAll(socket);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 400"]);
    expect(begun).toEqual(["/slow", "/read"]);
  });

  it("behind a request that waits for its response are not read any more", async () => {
    const { app, socket, first, second } = await start();
    const errors: unknown[] = [];
    app.server.on("clientError", (error) => errors.push(error));
    const detected = malformed(app);
    socket.write(SLOW);
    await first.promise;
    socket.write("GARBAGE\r\n\r\n");
    await detected;
    socket.write(Buffer.alloc(1_000_000, "x"));
    const other = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
    other.write(head("GET /none HTTP/1.1", "Connection: close"));
    await readAll(other);
    expect(errors).toHaveLength(1);
    second.resolve();
    // A system may say of a connection that is closed with unread bytes that it was reset, behind the answer.
    let text = "";
    socket.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    await new Promise((resolve) => socket.on("error", () => {}).once("close", resolve));
    expect(text).toMatch(/two\n\r\n0\r\n\r\n$/);
  });

  it("in the same packet as a good request: the good request is answered", async () => {
    const { socket, second } = await start();
    second.resolve();
    socket.write(`${SLOW}GARBAGE\r\n\r\n`);
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*two\n\r\n0\r\n\r\n$/);
  });

  it("in a body, with nothing else on the connection: 400", async () => {
    const { socket } = await start();
    socket.write(chunked("zz\r\n"));
    expect(await readAll(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]*MALFORMED_HTTP[\s\S]*\}$/);
  });
});
