import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { answerMalformedRequest } from "./errors.js";

const server = createServer({ headersTimeout: 50, connectionsCheckingInterval: 10 }, (_, response) =>
  response.end("served"),
).on("clientError", (error, socket) => answerMalformedRequest(error, socket as never));
afterEach(() => server.close());

/** Connects a client, and waits until the server has its connection. */
async function connected() {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port);
  await Promise.all([once(client, "connect"), once(server, "connection")]);
  return client;
}

describe("a connection on which no request has begun in time", () => {
  it("is closed without an answer, which the client's next request would take for its own", async () => {
    expect(await text(await connected())).toBe("");
  });

  it("is served if its request came while the process was halted", async () => {
    const client = await connected();
    client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    // Node looks for time-outs before it reads what came meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK.*served/s);
  });
});
