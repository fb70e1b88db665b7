import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { answerHalfClosed } from "./halfClosed.js";

const closing: (() => unknown)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Starts a server whose handler answers as far as `begin` says. @returns its port, and its next responses, one after the other. */
async function start(begin: (response: ServerResponse) => void) {
  const responses: ServerResponse[] = [];
  const handle: RequestListener = (_request, response) => {
    begin(response);
    responses.push(response);
    server.emit("begun");
  };
  const server = createServer(handle).listen(0, "127.0.0.1");
  answerHalfClosed(server);
  closing.push(() => server.close().closeAllConnections());
  await once(server, "listening");
  const next = async () => {
    if (responses.length === 0) await once(server, "begun");
    return responses.shift() as ServerResponse;
  };
  return { port: (server.address() as AddressInfo).port, next };
}

const REQUEST = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const firstLine = (response: ServerResponse) => void response.write("one\n");
const headAlone = (response: ServerResponse) => void response.writeHead(200);

/** Resolves with all text so far as soon as that ends as expected. */
async function readUntil(socket: Socket, end: string): Promise<string> {
  let text = "";
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    text += part;
    if (text.endsWith(end)) break;
  }
  return text;
}

describe("a client that closes its sending half behind its request", () => {
  it.each([
    ["lines", firstLine, "\r\n00", "4\r\ntwo\n\r\n0\r\n\r\n"],
    ["lines of which the first one comes late", headAlone, "\r\n00", "4\r\ntwo\n\r\n0\r\n\r\n"],
    ["an answer in one piece", () => {}, "HTTP/1.1 102 Processing\r\n\r\n".repeat(2), "\r\n\r\ntwo\n"],
  ])("gets %s, and the end of the connection", async (_, begin, probes, rest) => {
    const { port, next } = await start(begin);
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).setEncoding("utf8");
    socket.end(REQUEST);
    const response = await next();
    await readUntil(socket, probes);
    response.end("two\n");
    let text = "";
    for await (const part of socket) text += part;
    expect(text.endsWith(rest), text).toBe(true);
  });

  it("gets nothing but its answer where it knows HTTP 1.0 alone", async () => {
    const { port, next } = await start(firstLine);
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).setEncoding("utf8");
    socket.end(REQUEST.replace("1.1", "1.0"));
    const response = await next();
    if (!response.req.socket.readableEnded) await once(response.req.socket, "end");
    response.end("two\n");
    expect((await readUntil(socket, "two\n")).split("\r\n\r\n")[1]).toBe("one\ntwo\n");
  });
});

describe("a connection whose client closes its sending half", () => {
  it.each([
    ["before a request", ""],
    ["in a head", "GET / HT"],
    ["in a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12"],
  ])("%s ends at once: there is nothing to answer", async (_, bytes) => {
    const { port } = await start(() => {});
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.resume().end(bytes);
    await once(socket, "close");
  });
});

describe("the response to a client that has left", () => {
  const PROGRAM = "require('net').connect(+process.argv[1], '127.0.0.1').write(process.argv[2])";
  const destroyed = async (port: number) => {
    const socket = connect(port, "127.0.0.1");
    socket.resume().write(REQUEST);
    return () => socket.destroy();
  };
  const killed = async (port: number) => {
    const program = spawn(process.execPath, ["-e", PROGRAM, String(port), REQUEST]);
    closing.push(() => program.kill("SIGKILL"));
    return () => program.kill("SIGKILL");
  };

  it.each([
    ["destroyed its connection before the head", destroyed, () => {}],
    ["destroyed its connection before the first line", destroyed, headAlone],
    ["destroyed its connection behind the first line", destroyed, firstLine],
    ["was killed before the head", killed, () => {}],
    ["was killed behind the first line", killed, firstLine],
  ])("is closed, although nothing more is written: it %s", async (_, connectTo, begin) => {
    const { port, next } = await start(begin);
    const leave = await connectTo(port);
    const response = await next();
    leave();
    await once(response, "close");
    expect(response.writableEnded).toBe(false);
  });
});
