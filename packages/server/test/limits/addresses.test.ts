// The share of connections that one address may have, directly and behind proxies.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { API_KEY, type TestService, testServices } from "../support/testService.js";

/** Every address of 127.0.0.0/8 is this machine's. */
const [FIRST, SECOND, PROXY] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
const HEALTH = "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n";

const services = testServices();
const opened: { destroy(): void }[] = [];
afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
});

/** Opens a connection from this address. */
async function connectFrom({ url }: TestService, localAddress: string): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port), localAddress });
  socket.on("error", () => {});
  opened.push(socket);
  await once(socket, "connect");
  return socket;
}

async function isServed(socket: Socket): Promise<boolean> {
  const answer = Promise.race([once(socket, "data"), once(socket, "close").then(() => undefined)]);
  socket.write(HEALTH);
  return (await answer) !== undefined;
}

/** Opens a WebSocket with a good key. Resolves with the status of its handshake. */
async function handshakeFrom(
  service: TestService,
  localAddress: string,
  forwardedFor?: string,
): Promise<number> {
  const proxyFields = forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor };
  const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/submit`, {
    headers: { authorization: `Bearer ${API_KEY}`, ...proxyFields },
    localAddress,
  });
  opened.push({ destroy: () => socket.terminate() });
  socket.on("error", () => {});
  return new Promise((resolve) => {
    socket.once("open", () => resolve(101));
    socket.once("unexpected-response", (_request, { statusCode = 0 }) => resolve(statusCode));
    socket.once("close", () => resolve(0));
  });
}

describe("an address", () => {
  it("with its share of connections drops its own without a key for a new one, and nobody else's", async () => {
    const service = await services.start({ maxAddressConnections: 3 });
    const others = await connectFrom(service, SECOND);
    expect(await handshakeFrom(service, FIRST)).toBe(101);
    const idle = [await connectFrom(service, FIRST), await connectFrom(service, FIRST)];
    const dropped = once(idle[0] as Socket, "close");
    expect(await isServed(await connectFrom(service, FIRST))).toBe(true);
    await dropped;
    expect(await isServed(idle[1] as Socket)).toBe(true);
    expect(await isServed(others)).toBe(true);
  });

  it("whose connections all have shown a key gets no further one, while others do", async () => {
    const service = await services.start({ maxAddressConnections: 2 });
    for (let i = 0; i < 2; i++) expect(await handshakeFrom(service, FIRST)).toBe(101);
    expect(await handshakeFrom(service, FIRST)).toBe(0);
    expect(await handshakeFrom(service, SECOND)).toBe(101);
    expect(await isServed(await connectFrom(service, SECOND))).toBe(true);
  });
});

describe("behind a trusted proxy, an address", () => {
  it("has its share of WebSockets, as the proxy names it, and the proxy has no share", async () => {
    const service = await services.start({ maxAddressConnections: 2, trustedProxies: [PROXY] });
    const from = (client: string) => handshakeFrom(service, PROXY, client);
    expect([await from("198.51.100.1"), await from("198.51.100.1")]).toEqual([101, 101]);
    expect(await from("198.51.100.1")).toBe(503);
    expect(await from("198.51.100.7, 198.51.100.1")).toBe(503);
    expect([await from("2001:db8::1"), await from("2001:db8::2")]).toEqual([101, 101]);
    expect(await from("2001:db8::3")).toBe(503);
    expect(await from("2001:db8:0:1::1")).toBe(101);
    for (let i = 0; i < 4; i++) expect(await isServed(await connectFrom(service, PROXY))).toBe(true);
  });

  it("is not believed from anybody else", async () => {
    const service = await services.start({ maxAddressConnections: 1, trustedProxies: [PROXY] });
    expect(await handshakeFrom(service, FIRST, "198.51.100.1")).toBe(101);
    expect(await handshakeFrom(service, FIRST, "198.51.100.2")).toBe(0);
  });
});
