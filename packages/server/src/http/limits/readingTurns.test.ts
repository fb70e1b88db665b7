import { once } from "node:events";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { LoopQueue } from "../../util/loopQueue.js";
import { createReadMeter } from "./readingTurns.js";
import { RequestTurns } from "./requestTurns.js";

const BYTES = 4_000_000;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A queue in which nothing larger than a body's beginning goes on, until the test lets it. */
class HeldLoop extends LoopQueue {
  readonly held: (() => void)[] = [];
  priceOfAll = 0;
  isOpen = false;

  override enter(party: string, price: number, start: () => void, part = ""): () => void {
    this.priceOfAll += price;
    if (part !== "" || this.isOpen || this.priceOfAll === price)
      return super.enter(party, price, start, part);
    this.held.push(start);
    return () => {};
  }

  open(): void {
    this.isOpen = true;
    for (const start of this.held.splice(0)) start();
  }
}

/** Serves with the listener, and sends it a large body. */
async function sendBody(serve: (request: IncomingMessage) => void) {
  const loop = new HeldLoop();
  const server = createServer((incoming, response) => {
    serve(incoming);
    response.end("refused");
  });
  new RequestTurns(server, loop, () => ({ name: "party" }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as AddressInfo;
  const connected = once(server, "connection");
  const sent = request({ port, host: "127.0.0.1", method: "POST" });
  sent.on("error", () => {});
  sent.end(Buffer.alloc(BYTES));
  const [socket] = await connected;
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
  return { loop, socket };
}

it("reads a large body in turns of its party, at the price of its bytes", async () => {
  let bytes = 0;
  let incoming: IncomingMessage | undefined;
  const { loop, socket } = await sendBody((one) => {
    incoming = one;
    one.on("data", ({ length }: Buffer) => {
      bytes += length;
    });
    one.resume();
  });
  expect(loop.held).toHaveLength(1);
  expect(socket.bytesRead).toBeLessThan(BYTES / 2);
  loop.open();
  await once(incoming as IncomingMessage, "end");
  expect(bytes).toBe(BYTES);
  expect(loop.priceOfAll).toBeGreaterThan(BYTES * 0.001);
});

it("drops in turns what nobody reads, so that the connection serves the next request", async () => {
  let incoming: IncomingMessage | undefined;
  const { loop, socket } = await sendBody((one) => {
    incoming = one;
  });
  expect(socket.bytesRead).toBeLessThan(BYTES / 2);
  const ended = once(incoming as IncomingMessage, "end");
  while (loop.held.length === 0) await new Promise(setImmediate);
  expect(socket.bytesRead).toBeLessThan(BYTES / 2);
  loop.open();
  await ended;
  expect(socket.bytesRead).toBeGreaterThan(BYTES);
});

it("has a turn for fewer bytes where they come in small pieces, and in small packets", () => {
  const turnsOf = (pieces: number, bytes: number, ofPacket = 0) => {
    let received = 0;
    const meter = createReadMeter(() => received);
    const prices = Array.from({ length: pieces }, () => {
      received += ofPacket;
      return meter(bytes);
    });
    return prices.filter((price) => price > 0).length;
  };
  expect(turnsOf(16, 65_536)).toBe(16);
  // The same number of bytes, in chunks that count as four times as much.
  expect(turnsOf(16 * 256, 256)).toBe(64);
  // In a packet each, they count as four times as much again.
  expect(turnsOf(16 * 256, 256, 256)).toBeGreaterThan(200);
});
