import { once } from "node:events";
import { Agent, createServer, get, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { PRICES } from "../../model/prices.js";
import { LoopQueue } from "../../util/loopQueue.js";
import { RequestTurns } from "./requestTurns.js";

it("charges a party for the bytes of its answers, whether it reads them or not", async () => {
  const bytes = 32_000_000;
  const charged: [string, number][] = [];
  class CountingLoop extends LoopQueue {
    override charge(party: string, price: number): void {
      charged.push([party, price]);
    }
  }
  const server = createServer((_request, response) => void response.end(Buffer.alloc(bytes)));
  new RequestTurns(server, new CountingLoop(), () => ({ name: "reader" }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const closed = new Promise((resolve) =>
    server.prependOnceListener("request", (_request, response) => response.once("close", resolve)),
  );
  const sent = get({ port, host: "127.0.0.1", agent: false });
  const [answer] = await once(sent, "response");
  const [[party, price] = ["", 0]] = charged;
  expect(party).toBe("reader");
  expect(price).toBeGreaterThan(bytes * PRICES.sentByte);
  answer.resume();
  await closed;
  const all = charged.reduce((sum, [, one]) => sum + one, 0);
  expect(all).toBeLessThan(1.1 * bytes * PRICES.sentByte);
  await new Promise((resolve) => server.close(resolve));
});

it("charges a party for its connection, and for the header fields of a request", async () => {
  const charged: number[] = [];
  class CountingLoop extends LoopQueue {
    override enter(...[party, price, start]: Parameters<LoopQueue["enter"]>) {
      charged.push(price);
      return super.enter(party, price, start);
    }
  }
  const server = createServer((_request, response) => void response.end());
  new RequestTurns(server, new CountingLoop(), () => ({ name: "party" }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const headers = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`x${i}`, ""]));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let i = 0; i < 2; i++) {
    const [answer] = await once(get({ port, host: "127.0.0.1", agent, headers }), "response");
    await once(answer.resume(), "end");
  }
  agent.destroy();
  const second = PRICES.request + 902 * PRICES.field;
  expect(charged).toEqual([expect.closeTo(PRICES.connection + second), expect.closeTo(second)]);
  await new Promise((resolve) => server.close(resolve));
});

it("begins a small request of a party whose large ones have to wait", async () => {
  const clock = { ms: 0 };
  const loop = new LoopQueue({ now: () => clock.ms, measureUse: () => 0.9 });
  const served: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    served.push(headers["content-length"]);
    response.end();
  });
  new RequestTurns(server, loop, () => ({ name: "party" }));
  loop.charge("party", 100_000);
  loop.enter("party", 100, () => {});
  await loop.run("other", 100, () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const post = (bytes: number) => {
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent: false });
    sent.end(Buffer.alloc(bytes));
    return once(sent, "response") as Promise<[IncomingMessage]>;
  };
  const arrived = once(server, "connection");
  const large = post(1_000_000);
  await arrived;
  const [small] = await post(1_000);
  expect(served).toEqual(["1000"]);
  clock.ms = 20;
  const [answer] = await large;
  expect(served).toEqual(["1000", "1000000"]);
  for (const one of [small, answer]) one.resume();
  await new Promise((resolve) => server.close(resolve));
  // A queue with work for which its clock stands still would look at that every 2 ms, as long as the process runs.
  clock.ms = 1_000;
  while (loop.waiting > 0) await new Promise(setImmediate);
});

it("parses no small pieces of a body of unknown length that is full of what ends a head", async () => {
  let pieces = 0;
  const server = createServer((request, response) => {
    request.on("data", () => pieces++).on("end", () => response.end());
    request.resume();
  });
  new RequestTurns(server, new LoopQueue(), () => ({ name: "party" }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: "127.0.0.1", method: "POST", agent: false });
  const bytes = 65_536;
  sent.write("\r\n\r\n".repeat(bytes / 4));
  sent.end();
  const [answer] = await once(sent, "response");
  answer.resume();
  expect(pieces).toBeLessThan(bytes / 32);
  await new Promise((resolve) => server.close(resolve));
});

const GET = "GET / HTTP/1.1\r\nHost:x\r\n\r\n";
const post = (field: string, body: string) => `POST / HTTP/1.1\r\nHost:x\r\n${field}\r\n\r\n${body}`;

it.each([
  ["requests", GET],
  ["requests behind a small body", post("Content-Length: 1", "x")],
  ["requests behind a body of many packets", post("Content-Length: 300000", "x".repeat(300_000))],
  ["requests behind a body of unknown length", post("Transfer-Encoding: chunked", "1\r\nx\r\n0\r\n\r\n")],
])("parses a small part of a packet's thousands of %s before the first is answered", async (_, first) => {
  const answers: (() => void)[] = [];
  let begun = 0;
  const server = createServer((request, response) => {
    begun++;
    request.resume();
    if (begun === 1) answers.push(() => response.end());
    else response.end();
  });
  new RequestTurns(server, new LoopQueue(), () => ({ name: "party" }));
  let parsed = 0;
  server.on("request", () => parsed++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const rest = 2_500;
  client.write(`${first}${GET.repeat(rest)}`);
  let text = "";
  client.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  while (answers.length === 0 || client.writableLength > 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  expect(parsed).toBeLessThan(5);
  answers[0]?.();
  while (begun < 1 + rest) await new Promise(setImmediate);
  while (text.split("200 OK").length - 1 < 1 + rest) await new Promise(setImmediate);
  client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

it.each([
  ["requests behind the first", GET.repeat(2_400)],
  ["a body", `POST / HTTP/1.1\r\nHost:x\r\nContent-Length: 1000000\r\n\r\n${"x".repeat(60_000)}`],
  ["requests for their turns", GET],
])("closes connections of a party of which too much waits: %s", async (_, packet) => {
  class StandingLoop extends LoopQueue {
    override enter() {
      return () => {};
    }
  }
  const server = createServer();
  const maxBytes = 2_000_000;
  new RequestTurns(server, new StandingLoop(), ({ headers }) => ({ name: headers.host ?? "" }), maxBytes);
  const clients: Socket[] = [];
  const sockets: Socket[] = [];
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connectAs = async (host: string) => {
    const client = connect(port, "127.0.0.1").on("error", () => {});
    const [socket] = (await once(server, "connection")) as [Socket];
    client.write(packet.replaceAll("Host:x", `Host:${host}`));
    clients.push(client);
    sockets.push(socket);
    while (!socket.destroyed && !socket.isPaused() && socket.bytesRead < packet.length)
      await new Promise(setImmediate);
    return socket;
  };
  const received = () =>
    sockets.reduce((sum, { destroyed, bytesRead }) => sum + (destroyed ? 0 : bytesRead), 0);
  for (let i = 0; i < 30; i++) await connectAs("a");
  expect(received()).toBeLessThan(maxBytes / 2);
  // Each waiting request counts as 64 KiB.
  expect(sockets.filter(({ destroyed }) => !destroyed).length).toBeLessThan(16);
  const ofOthers = [];
  for (const host of ["b", "c", "d"]) ofOthers.push(await connectAs(host), await connectAs(host));
  expect(ofOthers.filter(({ destroyed }) => destroyed)).toEqual([]);
  expect(received()).toBeLessThan(maxBytes);
  for (const socket of [...clients, ...sockets]) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

it("counts a body no longer once it is read, while its connection stays or its response waits", async () => {
  const open: (() => void)[] = [];
  const server = createServer((incoming, response) => {
    setImmediate(() => incoming.resume().on("end", () => response.writeHead(200).flushHeaders()));
    open.push(() => response.end());
  });
  new RequestTurns(server, new LoopQueue(), () => ({ name: "party" }), 400_000);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < 5; i++) {
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent });
    sent.end(Buffer.alloc(100_000));
    const [answer] = await once(sent, "response");
    expect(answer.statusCode).toBe(200);
    answer.resume();
  }
  for (const end of open) end();
  agent.destroy();
  await new Promise((resolve) => server.close(resolve));
});
