import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { afterEach, describe, expect, it, vi } from "vitest";
import { limitConnections } from "./connections.js";

const KEYLESS_MS = 5_000;

/** A port without a network, which keeps count of what it drops. */
function portWith(limits: { readonly maxConnections?: number; readonly maxAddressConnections?: number }) {
  const server = new EventEmitter();
  const app = { server, addHook() {} } as unknown as FastifyInstance;
  const table = limitConnections(app, { ...limits, keylessMs: KEYLESS_MS }, { dropped() {} });
  const connect = (remoteAddress: string) => {
    const socket = new FakeSocket(remoteAddress);
    server.emit("connection", socket);
    return socket as FakeSocket & Socket;
  };
  const request = (socket: Socket) => {
    const response = new EventEmitter();
    server.emit("request", { socket }, response);
    return () => response.emit("close");
  };
  const withKey = (address: string, key: ReturnType<typeof rightOf>) => {
    const socket = connect(address);
    table.keep(socket, key.right);
    return socket;
  };
  return { connect, request, withKey };
}

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  closed = false;

  constructor(remoteAddress: string) {
    super();
    this.remoteAddress = remoteAddress;
  }

  destroy(): void {
    if (this.closed) return;
    this.closed = true;
    this.emit("close");
  }
}

function rightOf(isPublishable: boolean, keyId = "a key") {
  const controller = new AbortController();
  const caller = { keyId, ...(isPublishable && { publishable: {} }) };
  const right = { caller, signal: controller.signal } as unknown as Parameters<
    ReturnType<typeof limitConnections>["keep"]
  >[1];
  return { right, end: () => controller.abort() };
}

const PUBLIC = rightOf(true);
const SECRET = rightOf(false);
const closedOf = (sockets: readonly { readonly closed: boolean }[]) => sockets.map(({ closed }) => closed);

afterEach(() => void vi.useRealTimers());

describe("a full port", () => {
  it("drops connections without a key first, then those of publishable keys, and none in use of secret ones", () => {
    const { connect, request, withKey } = portWith({ maxConnections: 4 });
    const secret = withKey("192.0.2.1", SECRET);
    const publishable = [withKey("192.0.2.2", PUBLIC), withKey("192.0.2.2", PUBLIC)];
    const keyless = connect("192.0.2.3");
    expect(closedOf([secret, ...publishable, withKey("192.0.2.4", SECRET)])).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(keyless.closed).toBe(true);
    const others = ["192.0.2.5", "192.0.2.6"].map((address, i) =>
      withKey(address, rightOf(false, `key ${i}`)),
    );
    expect(closedOf([secret, ...publishable, ...others])).toEqual([false, true, true, false, false]);
    for (const socket of [secret, ...others]) request(socket);
    expect(closedOf([connect("192.0.2.7"), connect("192.0.2.8")])).toEqual([true, false]);
    expect(closedOf([secret, ...others])).toEqual([false, false, false]);
  });

  it("drops connections of the secret key with the most: idle ones, and those in use beyond half of the port", () => {
    const { request, withKey } = portWith({ maxConnections: 4 });
    const many = [1, 2, 3].map((host) => withKey(`192.0.2.${host}`, SECRET));
    const few = [withKey("192.0.2.4", rightOf(false, "b"))];
    for (const socket of many.slice(0, 2)) request(socket);
    few.push(withKey("192.0.2.4", rightOf(false, "c")));
    expect(closedOf([...many, ...few])).toEqual([false, false, true, false, false]);
    many.push(withKey("192.0.2.5", SECRET));
    expect(closedOf([...few, ...many.slice(3)])).toEqual([false, false, true]);
  });

  it("drops the address with the most connections of publishable keys, the longest idle one first", () => {
    const { request, withKey } = portWith({ maxConnections: 4 });
    const [once] = [withKey("192.0.2.1", PUBLIC)];
    const many = ["192.0.2.2", "192.0.2.2", "192.0.2.2"].map((address) => withKey(address, PUBLIC));
    const end = request(many[0] as Socket);
    withKey("192.0.2.3", SECRET);
    expect(closedOf(many)).toEqual([false, true, false]);
    withKey("192.0.2.3", SECRET);
    expect(closedOf(many)).toEqual([false, true, true]);
    end();
    expect(once?.closed).toBe(false);
  });

  it("drops the IPv6 network of 48 bits with the most, however many of its addresses they come from", () => {
    const { withKey } = portWith({ maxConnections: 5 });
    const [first, second] = ["192.0.2.1", "192.0.2.1"].map((address) => withKey(address, PUBLIC));
    const site = [1, 2, 3].map((network) => withKey(`2001:db8:7:${network}::1`, PUBLIC));
    withKey("192.0.2.3", SECRET);
    expect(closedOf(site)).toEqual([true, false, false]);
    expect([first?.closed, second?.closed]).toEqual([false, false]);
  });

  it("drops requests of publishable keys in flight, rather than nobody else gets in", () => {
    const { connect, request, withKey } = portWith({ maxConnections: 2 });
    const busy = [withKey("192.0.2.1", PUBLIC), withKey("192.0.2.2", PUBLIC)];
    for (const socket of busy) request(socket);
    expect(connect("192.0.2.3").closed).toBe(false);
    expect(closedOf(busy).filter(Boolean)).toHaveLength(1);
  });
});

describe("an address with its share of connections", () => {
  it("gets a new one in place of its own under a publishable key", () => {
    const { connect, withKey } = portWith({ maxAddressConnections: 1 });
    const other = withKey("192.0.2.2", PUBLIC);
    const first = withKey("192.0.2.1", PUBLIC);
    expect(connect("192.0.2.1").closed).toBe(false);
    expect(closedOf([first, other])).toEqual([true, false]);
  });

  it("has the share of four with the others of its IPv6 network of 48 bits", () => {
    const { withKey } = portWith({ maxAddressConnections: 2 });
    const sockets = Array.from({ length: 9 }, (_, i) => withKey(`2001:db8:7:${i}::1`, SECRET));
    expect(closedOf(sockets)).toEqual([...Array<boolean>(8).fill(false), true]);
    expect(withKey("2001:db8:8::1", SECRET).closed).toBe(false);
  });
});

describe("a connection whose key ended", () => {
  it("is closed within a second if idle, and with its answer otherwise", () => {
    vi.useFakeTimers();
    const key = rightOf(true);
    const { request, withKey } = portWith({});
    const [idle, busy, other] = [withKey("a", key), withKey("a", key), withKey("a", PUBLIC)];
    const end = request(busy);
    key.end();
    vi.advanceTimersByTime(1_000);
    expect(closedOf([idle, busy, other])).toEqual([true, false, false]);
    end();
    vi.advanceTimersByTime(1_000);
    expect(closedOf([busy, other])).toEqual([true, false]);
  });
});
