// The bytes of a request to a node: the client makes its header fields itself.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { makeCertificate } from "../../../test/support/certificate.js";
import { createPoster } from "./httpPoster.js";

const closers: (() => void)[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const close of closers.splice(0)) close();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A poster whose connections end with the test. */
function posterTo(url: string) {
  const ending = new AbortController();
  closers.unshift(() => ending.abort());
  return createPoster(url, { rpcTimeoutMs: 20_000, signal: ending.signal });
}

/** Starts a server that keeps what it is asked, and answers with nothing. */
async function startServer() {
  const requests: { line: string; fields: string[]; body: string }[] = [];
  const server = createServer(async (request: IncomingMessage, response) => {
    const body = (await request.setEncoding("utf8").toArray()).join("");
    const { method, url, rawHeaders } = request;
    const fields = rawHeaders.flatMap((name, i) =>
      i % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[i + 1]}`] : [],
    );
    requests.push({ line: `${method} ${url}`, fields: fields.sort(), body });
    response.end();
  });
  return { port: await listen(server), requests };
}

describe("a request to a node", () => {
  it("has the path and the credentials of its URL, and the length of the body in bytes", async () => {
    const { port, requests } = await startServer();
    const body = '{"note":"é"}';
    await posterTo(`http://127.0.0.1:${port}`).post(body);
    await posterTo(`http://operator:p%40ss@127.0.0.1:${port}/v2/project?network=1`).post(body);
    const fields = [
      "connection: keep-alive",
      "content-length: 13",
      "content-type: application/json",
      `host: 127.0.0.1:${port}`,
    ];
    const authorization = `authorization: Basic ${Buffer.from("operator:p@ss").toString("base64")}`;
    expect(requests).toEqual([
      { line: "POST /", fields, body },
      { line: "POST /v2/project?network=1", fields: [authorization, ...fields], body },
    ]);
  });

  it("names the server in a TLS handshake, unless the URL has an address", async () => {
    const names: string[] = [];
    const server = createTlsServer({
      ...makeCertificate({ names: ["localhost", "127.0.0.1"] }),
      SNICallback(name, callback) {
        names.push(name);
        callback(null);
      },
    });
    server.on("tlsClientError", () => {});
    const port = await listen(server);
    // Nobody vouches for the certificate, which the client finds out after it has named the server.
    await expect(posterTo(`https://127.0.0.1:${port}`).post("{}")).rejects.toThrow("self-signed");
    expect(names).toEqual([]);
    await expect(posterTo(`https://localhost:${port}`).post("{}")).rejects.toThrow("self-signed");
    expect(names).toEqual(["localhost"]);
  });
});

describe("a connection to a node", () => {
  it("is kept for some seconds: behind a balancer, it may lead to a node that new ones do not lead to", async () => {
    const sockets = new Set<unknown>();
    const server = createServer((request, response) => {
      sockets.add(request.socket);
      response.end();
    });
    const poster = posterTo(`http://127.0.0.1:${await listen(server)}`);
    vi.useFakeTimers({ toFake: ["performance"] });
    const counts: number[] = [];
    for (const ms of [0, 1_000, 13_000, 1_000, 0, 1_000]) {
      vi.advanceTimersByTime(ms);
      await poster.post("{}");
      counts.push(sockets.size);
    }
    expect(counts).toEqual([1, 1, 1, 1, 2, 2]);
  });
});

describe("an answer that counts against a memory", () => {
  /** Posts to a server that answers with so many bytes. @returns the error or the size, and the memory that was held at most and is left. */
  async function post(bytes: number) {
    const port = await listen(createServer((_request, response) => response.end(" ".repeat(bytes))));
    let [held, most] = [0, 0];
    const turns: unknown[] = [];
    const openMemory = () => ({
      grow(more: number) {
        if (held + more > 200_000) throw new Error("this key holds 200,000 bytes");
        held += more;
        most = Math.max(most, held);
      },
      release() {
        held = 0;
      },
      async turn(waiting: number) {
        await new Promise(setImmediate);
        turns.push({ waiting, held });
      },
    });
    const answer = await posterTo(`http://127.0.0.1:${port}`)
      .post("{}", false, openMemory)
      .then(
        ({ text }) => text.length,
        (error: Error) => error,
      );
    return { answer, most, held, turns };
  }

  it("counts while it is read, and waits for a turn to be parsed if it is large", async () => {
    const turns = [{ waiting: 150_000, held: 150_000 }];
    expect(await post(150_000)).toEqual({ answer: 150_000, most: 150_000, held: 0, turns });
    expect((await post(50_000)).turns).toEqual([]);
  });

  it("is cut where there is no room", async () => {
    const { answer } = await post(1_000_000);
    expect(answer).toMatchObject({
      cause: { name: "ResponseTooLargeError", cause: { message: "this key holds 200,000 bytes" } },
    });
  });
});
