// The ports of operators under floods of connections: whoever comes with a token, or asks for something, is served.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { OPERATORS_CONNECTIONS } from "../../src/http/limits/connections.js";
import { type TestService, testServices } from "../support/testService.js";

const TOKEN = "an-operators-token-of-32-characters-and-more";
/** The flood comes from several addresses, since one has a share of its own. */
const ADDRESSES = ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"];
const { maxConnections, maxAddressConnections } = OPERATORS_CONNECTIONS;
const services = testServices();
const opened: Socket[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

async function open(url: string, localAddress: string): Promise<Socket> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), localAddress });
  opened.push(socket);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Opens more connections than the port takes, each of which sends these bytes. */
async function flood(url: string, bytes: string): Promise<Socket[]> {
  const ofEach = Math.ceil(maxConnections / ADDRESSES.length) + 5;
  const sockets: Socket[] = [];
  for (const address of ADDRESSES) {
    for (let i = 0; i < ofEach; i++) {
      const socket = (await open(url, address)).resume();
      if (bytes !== "") socket.write(bytes, "latin1");
      sockets.push(socket);
    }
  }
  return sockets;
}

/** Sends a request on an open connection. @returns the status of the answer; 0 if the connection is closed. */
async function ask(socket: Socket, bytes: string): Promise<number> {
  if (socket.destroyed) return 0;
  const answer = new Promise<string>((resolve) => {
    socket.once("data", (data) => resolve(String(data))).once("close", () => resolve(""));
  });
  socket.write(bytes, "latin1");
  return Number((await answer).slice(9, 12));
}

const isOpen = (socket: Socket) => !socket.destroyed;
const get = (path: string, field = "") => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${field}\r\n`;
const LIST = get("/admin/v1/keys", `Authorization: Bearer ${TOKEN}\r\n`);
const adminOf = (service: TestService) => service.server.listenAdmin({ host: "127.0.0.1", port: 0 });

describe("the admin API under a flood of connections without a token", () => {
  it.each([
    ["that say nothing", ""],
    ["with half a request", "POST /admin/v1/keys HTTP/1.1\r\nHost: localhost\r\n"],
    ["with a wrong token", get("/admin/v1/keys", "Authorization: Bearer wrong\r\n")],
  ])("%s: an operator's connections stay, and a new one is served", async (_, bytes) => {
    const service = await services.start({ adminTokens: [{ name: "alice", token: TOKEN }] });
    const { url } = await adminOf(service);
    const before = await open(url, "127.0.0.1");
    expect(await ask(before, LIST)).toBe(200);
    const sockets = await flood(url, bytes);
    expect(await ask(await open(url, "127.0.0.1"), LIST)).toBe(200);
    expect(await ask(before, LIST)).toBe(200);
    await expect.poll(() => sockets.filter(isOpen).length).toBeLessThanOrEqual(maxConnections - 2);
  });
});

describe("the port of the metrics", () => {
  it("serves whoever asks beside a flood of connections that say nothing or have asked once", async () => {
    const service = await services.start();
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const scraper = await open(url, "127.0.0.1");
    for (const bytes of ["", get("/livez")]) {
      await flood(url, bytes);
      const path = bytes === "" ? "/metrics" : "/readyz";
      expect(await ask(await open(url, "127.0.0.1"), get(path))).toBe(200);
    }
    expect(await ask(scraper, get("/livez"))).toBe(0);
  });

  it("closes the connection that has been silent for longest, and gives an address a share of all", async () => {
    const service = await services.start();
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const others = await open(url, "127.0.0.1");
    const [first, second] = [await open(url, "127.0.0.2"), await open(url, "127.0.0.2")];
    expect(await ask(first, get("/livez"))).toBe(200);
    for (let i = 2; i < maxAddressConnections; i++) await open(url, "127.0.0.2");
    const dropped = once(second, "close");
    await open(url, "127.0.0.2");
    await dropped;
    expect([await ask(first, get("/livez")), await ask(others, get("/livez"))]).toEqual([200, 200]);
  });

  it("answers requests of one connection one after the other, and unknown paths with 404", async () => {
    const service = await services.start();
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const socket = await open(url, "127.0.0.1");
    socket.write(get("/nothing").repeat(3) + get("/livez", "Connection: close\r\n"));
    let text = "";
    for await (const part of socket.setEncoding("latin1")) text += part;
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      "404",
      "404",
      "404",
      "200",
    ]);
  });
});
