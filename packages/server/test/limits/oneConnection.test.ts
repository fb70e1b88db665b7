// A connection costs the service the same stalls and listeners at one request as at thousands.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../support/childProgram.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { TestPostgres } from "../support/testPostgres.js";
import { API_KEY, optionsFor } from "../support/testService.js";
import { upgradeRequest } from "../support/upgradeRequest.js";
import { WAIVER_KEY } from "../support/user.js";

/** Leaves room for a busy machine. When listeners piled up, 50,000 requests stalled the event loop for 17.7 s. */
const LONGEST_STALL_MS = 2_000;
/** Node and the service add up to four listeners to an event of a connection. */
const MAX_LISTENERS = 8;
/** A service lets an address have 200 refusals a second, so more of them take longer. */
const REQUESTS = 1_000;

/** The service, and a second port that reports the longest stall, and the most listeners of any event, since the last report. */
const PROGRAM = `
  import { subscribe } from "node:diagnostics_channel";
  import { createServer as createHttpServer } from "node:http";
  import { monitorEventLoopDelay } from "node:perf_hooks";
  import { parseAllowedTargets } from "@gas-waiver/protocol";
  import { createServer, privateKeyWaiver } from "@gas-waiver/server";
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let listeners = 0;
  const sockets = new Set();
  const count = (socket) => {
    for (const event of socket.eventNames()) listeners = Math.max(listeners, socket.listenerCount(event));
  };
  subscribe("net.server.socket", ({ socket }) => {
    sockets.add(socket);
    socket.on("newListener", () => count(socket));
    socket.once("close", () => sockets.delete(socket));
  });
  const server = await createServer({
    ...input.options,
    waivers: [privateKeyWaiver(Uint8Array.from(input.waiverKey))],
    allowedTargets: parseAllowedTargets([{ address: "*" }]),
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const reports = createHttpServer((_request, response) => {
    response.end(JSON.stringify({ stallMs: delay.max / 1e6, listeners }));
    delay.reset();
    listeners = 0;
  });
  reports.listen(0, "127.0.0.1", () => console.log(url + " http://127.0.0.1:" + reports.address().port));`;

interface Report {
  readonly stallMs: number;
  readonly listeners: number;
}

const postgres = new TestPostgres();
let node: ScriptedNode;
let program: Awaited<ReturnType<typeof runProgram>>;
let url: string;
let reportUrl: string;
beforeAll(async () => {
  await postgres.start();
  node = await ScriptedNode.start();
  const { waivers, allowedTargets, ...options } = optionsFor(await postgres.createDatabase(), node.url);
  program = await runProgram(PROGRAM, { options, waiverKey: [...WAIVER_KEY] });
  [url = "", reportUrl = ""] = program.line.split(" ");
});
afterAll(async () => {
  await program?.kill();
  await node?.close();
  await postgres.end();
});

const report = async () => (await (await fetch(reportUrl)).json()) as Report;

/** Writes the pieces at the connection's pace, until it is closed. */
async function pour(socket: Socket, piece: Buffer, times: number): Promise<void> {
  for (let i = 0; i < times && !socket.destroyed; i++) {
    if (socket.write(piece)) continue;
    await new Promise<void>((resolve) => {
      socket.once("drain", resolve).once("close", resolve);
    });
  }
}

/** Resolves when `count` pieces of text came, or the connection is closed. */
function receive(socket: Socket, text: string, count: number): Promise<void> {
  return new Promise((resolve) => {
    let found = 0;
    let rest = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      const pieces = `${rest}${part}`.split(text);
      found += pieces.length - 1;
      rest = (pieces.at(-1) ?? "").slice(1 - text.length);
      if (found >= count) resolve();
    });
    socket.once("close", () => resolve());
  });
}

async function open(): Promise<Socket> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

const KEY = `Authorization: Bearer ${API_KEY}`;
const JSON_TYPE = "Content-Type: application/json";
const request = (first: string, fields: readonly string[] = [], body = "") =>
  [`${first} HTTP/1.1`, "Host: x", ...fields, `Content-Length: ${body.length}`, "", body].join("\r\n");

const KINDS: readonly (readonly [string, string])[] = [
  ["GET /v1/health", request("GET /v1/health")],
  ["HEAD /v1/health", request("HEAD /v1/health")],
  ["a path that does not exist", request("GET /v1/nothing")],
  ["a method that the path does not take", request("DELETE /v1/submit")],
  ["no key", request("GET /v1/submissions")],
  ["a bad key", request("GET /v1/policy", ["Authorization: Bearer gw_test_bad"])],
  ["bad JSON", request("POST /v1/submit", [KEY, JSON_TYPE], "{a}")],
  ["an empty batch", request("POST /v1/submit", [KEY, JSON_TYPE], '{"transactions":[]}')],
  ["a batch that does not decode", request("POST /v1/submit", [KEY, JSON_TYPE], '{"transactions":["0x"]}')],
  ["another content type", request("POST /v1/submit", [KEY, "Content-Type: text/plain"], "x")],
  ["an upgrade to an unknown protocol", request("GET /v1/health", ["Connection: Upgrade", "Upgrade: foo"])],
  ["an upgrade that is refused", `${upgradeRequest("gw_test_bad").join("\r\n")}\r\n\r\n`],
  ["Expect: 100-continue", request("GET /v1/health", ["Expect: 100-continue"])],
  ["an unknown Expect", request("GET /v1/health", ["Expect: foo"])],
  ["a CORS preflight", request("OPTIONS /v1/submit", ["Origin: https://a.example"])],
];

describe(`${REQUESTS.toLocaleString("en")} requests through one connection`, () => {
  it.each(KINDS)("of %s: the event loop turns, and nothing piles up on the connection", async (_, bytes) => {
    await report();
    const socket = await open();
    const piece = Buffer.from(bytes.repeat(100), "latin1");
    const answered = receive(socket, "\r\nDate: ", REQUESTS);
    await pour(socket, piece, REQUESTS / 100);
    await answered;
    socket.destroy();
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    const { stallMs, listeners } = await report();
    expect(listeners).toBeLessThanOrEqual(MAX_LISTENERS);
    expect(stallMs).toBeLessThan(LONGEST_STALL_MS);
  });

  it("of every kind after one another, without reading an answer: the event loop turns", async () => {
    await report();
    const socket = await open();
    socket.pause();
    // The other kinds make the service close the connection.
    const kept = KINDS.filter(([name]) => !/upgrade|JSON|content type/.test(name));
    const piece = Buffer.from(kept.map(([, bytes]) => bytes).join(""), "latin1");
    for (let i = 0; i < REQUESTS / kept.length; i++) socket.write(piece);
    expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    socket.destroy();
    const { stallMs, listeners } = await report();
    expect(listeners).toBeLessThanOrEqual(MAX_LISTENERS);
    expect(stallMs).toBeLessThan(LONGEST_STALL_MS);
  });
});
