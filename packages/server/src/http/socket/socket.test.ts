// The WebSocket, with a stub in place of the intake.
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { CLOSE_CODES, ProtocolError } from "@gas-waiver/protocol";
import { fastify } from "fastify";
import { Registry } from "prom-client";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { authenticatorOf } from "../../../test/support/callers.js";
import { deferred } from "../../../test/support/deferred.js";
import type { BlockFeed } from "../../gateway/feed/blockFeed.js";
import { SubscriptionLimits } from "../../gateway/feed/subscriptionLimits.js";
import type { Intake } from "../../intake/intake.js";
import { DEFAULTS } from "../../model/options/options.js";
import { PRICES } from "../../model/prices.js";
import { createLog } from "../../model/telemetry/log.js";
import { createMetrics } from "../../model/telemetry/metrics.js";
import type { LineGroup } from "../../results/resultLine.js";
import { LoopQueue } from "../../util/loopQueue.js";
import type { AddressedRequest } from "../clientAddress.js";
import { createErrorHandler } from "../errors.js";
import { BodyMemoryBudget } from "../limits/bodyMemoryBudget.js";
import { acceptSockets } from "./socket.js";

const KEYS = ["gw_test_first_secret", "gw_test_other_secret"] as const;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function appWith(submit: Intake["submit"], loop = new LoopQueue()) {
  const log = createLog("silent");
  const metrics = createMetrics(new Registry(), () => []);
  const app = fastify();
  app.setErrorHandler(createErrorHandler(log, metrics));
  const intake = {
    submit,
    watch: async () => none(),
  };
  const bodyMemory = new BodyMemoryBudget(1_000_000, 100_000);
  const listeners: Parameters<BlockFeed["onHead"]>[0][] = [];
  const revocation = new AbortController();
  const authenticator = authenticatorOf(KEYS);
  /** Grants of the first key end with {@link revocation}. */
  const authenticate = (request: AddressedRequest) => {
    const grant = authenticator.authenticate(request);
    return request.headers.authorization?.endsWith(KEYS[0])
      ? { caller: grant.caller, signal: revocation.signal }
      : grant;
  };
  acceptSockets(app, {
    server: app.server,
    intake,
    log,
    metrics,
    rateLimiter: {
      take: async () => ({ state: { remaining: 1, resetSeconds: 0 }, refund: () => {} }),
      close: async () => {},
    },
    readLimiter: {
      count: () => {},
      read: (_caller, _records, work) => work(),
      readOn: (_caller, work) => work(),
    },
    loop,
    gateway: {
      answer: async (_message, _caller, _exchange, subscriptions) =>
        JSON.stringify(subscriptions?.subscribe(["newHeads"])),
      beginExchange: () => ({ tell: () => true, lost: () => {} }),
    },
    blockFeed: {
      onHead: (listener) => {
        listeners.push(listener);
        return () => {};
      },
      onLogs: () => () => {},
    },
    subscriptionLimits: new SubscriptionLimits(),
    countNotified() {},
    connections: { keep: () => {} },
    clientAddress: () => "192.0.2.1",
    authenticator: { authenticate },
    bodyMemory,
    options: { ...DEFAULTS, maxBodyBytes: 100_000, socketPingMs: 60_000 },
  });
  closers.push(() => app.close());
  const accepted: Socket[] = [];
  app.server.on("connection", (connection) => accepted.push(connection));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const open = async (key: string = KEYS[0], path = "/v1/submit") => {
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    await once(socket, "open");
    return socket;
  };
  const revoke = () => revocation.abort(new ProtocolError("KEY_REVOKED", "the API key was revoked"));
  const announce = (value: string) => {
    for (const listener of listeners) listener({ value, text: JSON.stringify(value) });
  };
  return { open, revoke, announce, accepted, bodyMemory };
}

async function* none(): AsyncGenerator<LineGroup> {}

/** The connection under a client. */
const rawOf = (client: WebSocket) => (client as unknown as { readonly _socket: Socket })._socket;

const request = (id: number) => JSON.stringify({ id, transactions: ["0x"] });

/** Waits until the service has answered a frame, and so has read all before it. */
async function roundTrip(socket: WebSocket): Promise<void> {
  socket.send(JSON.stringify({ id: "round trip", watch: [] }));
  await once(socket, "message");
}

/** A queue in which the turns that read the next bytes begin when the test lets them. */
class HeldLoop extends LoopQueue {
  readonly held: (() => void)[] = [];

  override enter(party: string, price: number, start: () => void, part = ""): () => void {
    const isBeginning = price === PRICES.request || price === PRICES.upgrade;
    if (part !== "" || isBeginning) return super.enter(party, price, start, part);
    expect(price).toBeGreaterThanOrEqual(65_536 * PRICES.readByte);
    this.held.push(start);
    return () => {};
  }
}

describe("a client that the service disconnects while its bytes wait for a turn", () => {
  it("has nothing more read", async () => {
    const loop = new HeldLoop();
    const { open, accepted } = await appWith(async () => none(), loop);
    const client = await open();
    // The pings are too many, and come in the packet with which the bytes have to wait for a turn.
    for (let frame = 0; frame < 5; frame++) {
      client.send("x".repeat(7_500));
      await once(client, "message");
    }
    const pings = Buffer.from(Array<number[]>(1_100).fill([0x89, 0x80, 0, 0, 0, 0]).flat());
    rawOf(client).write(Buffer.concat([pings, Buffer.alloc(1_000_000, 0x81)]));
    while (loop.held.length === 0) await new Promise(setImmediate);
    const [connection] = accepted as [Socket];
    let read = 0;
    connection.on("data", ({ length }) => {
      read += length;
    });
    for (const start of loop.held.splice(0)) start();
    await once(connection, "close");
    expect(read).toBeLessThan(pings.length);
  });
});

describe("a client that opens WebSockets one after the other", () => {
  it("waits for the turn of its key, as with any other request, and may leave meanwhile", async () => {
    const loop = new LoopQueue({ now: () => 0, measureUse: () => 0 });
    const { open, accepted } = await appWith(async () => none(), loop);
    const other = await open(KEYS[1]);
    for (let refusal = 0; refusal < 500; refusal++) loop.refuse("key 0");
    let hasOpened = false;
    const opening = open().then(() => {
      hasOpened = true;
    });
    while (loop.waiting === 0) await roundTrip(other);
    for (let turn = 0; turn < 10; turn++) await roundTrip(other);
    expect([hasOpened, loop.waiting]).toEqual([false, 1]);
    accepted[1]?.destroy(new Error("the client has left"));
    await expect(opening).rejects.toThrow();
    expect(loop.waiting).toBe(0);
  });
});

describe("a packet of thousands of frames", () => {
  it("is read a few frames at a time, while its key has to wait, and each counts with what it takes of memory", async () => {
    const loop = new LoopQueue({ now: () => 0, measureUse: () => 0 });
    const { open, bodyMemory } = await appWith(async () => none(), loop);
    const [socket, other] = [await open(), await open(KEYS[1])];
    for (let refusal = 0; refusal < 500; refusal++) loop.refuse("key 0");
    rawOf(socket).write(Buffer.concat(Array<Buffer>(10_000).fill(Buffer.of(0x81, 0x80, 0, 0, 0, 0))));
    while (loop.waiting === 0) await roundTrip(other);
    for (let turn = 0; turn < 10; turn++) await roundTrip(other);
    expect(loop.waiting).toBeLessThan(50);
    expect(bodyMemory.reservedBytes).toBeGreaterThanOrEqual(loop.waiting * 4_096);
    socket.terminate();
  });
});

describe("a client that sends a large frame", () => {
  it("has the rest of it read when it is the turn of its key, which pays for the bytes", async () => {
    const loop = new HeldLoop();
    const { held } = loop;
    const { open } = await appWith(async () => none(), loop);
    const socket = await open();
    let answers = 0;
    socket.on("message", () => answers++);
    socket.send("x".repeat(99_000));
    while (held.length === 0) await new Promise(setImmediate);
    expect(answers).toBe(0);
    const answered = once(socket, "message");
    held.pop()?.();
    while (answers === 0) {
      await Promise.race([answered, new Promise(setImmediate)]);
      held.pop()?.();
    }
    socket.terminate();
  });
});

describe("a client that does not read", () => {
  it("is paused: its lines are not pulled and its frames not read, while others are served, until it reads again", async () => {
    let pulled = 0;
    let submitted = 0;
    const message = "x".repeat(100_000);
    // Endless: a loop that pulled without sending would never end.
    async function* endless(): AsyncGenerator<LineGroup> {
      for (let index = 0; ; index++) {
        pulled++;
        yield [{ index, id: "i", success: false, error: { code: "TIMEOUT", message } }];
      }
    }
    const { open } = await appWith(async () => {
      submitted++;
      return endless();
    });
    const slow = await open();
    const other = await open();
    slow.pause();
    slow.send(request(1));
    for (let before = -1; before < pulled || pulled === 0; ) {
      before = pulled;
      for (let i = 0; i < 100; i++) await roundTrip(other);
    }
    // At 100 kB a line, only the buffers of the two sockets fill.
    expect(pulled).toBeLessThan(200);
    slow.send(request(2));
    for (let i = 0; i < 100; i++) await roundTrip(other);
    expect(submitted).toBe(1);

    const stopped = pulled;
    slow.resume();
    let lines = 0;
    while (lines < stopped * 2) {
      await once(slow, "message");
      lines++;
    }
    expect(pulled).toBeGreaterThan(stopped);
    slow.terminate();
    other.terminate();
  });
});

describe("a subscriber", () => {
  it("is notified when it is the turn of its key, which has to pay for its refusals first", async () => {
    const clock = { ms: 0 };
    const loop = new LoopQueue({ now: () => clock.ms });
    const { open, announce } = await appWith(async () => none(), loop);
    const subscribe = async (key: string) => {
      const socket = await open(key, "/rpc/path");
      socket.send("{}");
      await once(socket, "message");
      return { socket, told: once(socket, "message") };
    };
    const [refused, other] = [await subscribe(KEYS[0]), await subscribe(KEYS[1])];
    for (let i = 0; i < 500; i++) loop.refuse("key 0");
    const isTold = vi.fn();
    void refused.told.then(isTold);
    announce("a block");
    await other.told;
    // Whatever was sent at the same time has arrived then.
    for (let i = 0; i < 10; i++) {
      other.socket.send("{}");
      await once(other.socket, "message");
    }
    expect(isTold).not.toHaveBeenCalled();
    clock.ms += 10_000;
    await refused.told;
    for (const { socket } of [refused, other]) socket.terminate();
  });
});

describe("a client", () => {
  it("gets the frames of one turn of the event loop in one packet", async () => {
    async function* twoLines(): AsyncGenerator<LineGroup> {
      yield [{ index: 0, id: "i", success: true, txHash: "0x" }];
      yield [{ index: 1, id: "j", success: true, txHash: "0x" }];
    }
    const { open } = await appWith(async () => twoLines());
    const socket = await open();
    let packets = 0;
    rawOf(socket).on("data", () => packets++);
    const done = new Promise<void>((resolve) => {
      socket.on("message", (frame) => {
        if (frame.toString().includes('"done":true')) resolve();
      });
    });
    socket.send(request(1));
    await done;
    expect(packets).toBe(1);
    socket.terminate();
  });

  it("that leaves ends its streams", async () => {
    const streamEnd = deferred();
    const waiting: AsyncIterable<LineGroup> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          streamEnd.resolve();
          return { done: true, value: undefined };
        },
      }),
    };
    const { open } = await appWith(async () => waiting);
    const client = await open();
    client.send(request(1));
    await roundTrip(client);
    client.terminate();
    await streamEnd.promise;
  });

  it("that answers no ping is dropped at the next ping, and one that answers stays", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    closers.push(async () => vi.useRealTimers());
    const { open } = await appWith(async () => none());
    const [dead, alive] = [await open(), await open()];
    dead.pause();
    for (let round = 0; round < 3; round++) {
      const pinged = once(alive, "ping");
      vi.advanceTimersByTime(60_000);
      await pinged;
      // The pong is sent before this frame.
      await roundTrip(alive);
    }
    dead.resume();
    const [code] = await once(dead, "close");
    expect(code).toBe(1006);
    alive.terminate();
  });
});

describe("a key that is revoked", () => {
  it("closes its own connections with 1008, and no others", async () => {
    const { open, revoke } = await appWith(async () => none());
    const [revoked, other] = [await open(), await open(KEYS[1])];
    await roundTrip(revoked);
    revoke();
    const [code, reason] = await once(revoked, "close");
    expect([code, String(reason)]).toEqual([CLOSE_CODES.policyViolation, "the API key was revoked"]);
    await roundTrip(other);
    other.terminate();
  });
});

describe("a client that does not read when its key is revoked", () => {
  it("gets no further line, has no further frame read, and is cut off", async () => {
    const streamEnd = deferred();
    let submitted = 0;
    const end = { done: true, value: undefined } as const;
    const waiting: AsyncIterator<LineGroup> = {
      next: () => streamEnd.promise.then(() => end),
      async return() {
        streamEnd.resolve();
        return end;
      },
    };
    const { open, revoke } = await appWith(async () => {
      submitted++;
      return { [Symbol.asyncIterator]: () => waiting };
    });
    const client = await open();
    client.send(request(1));
    await roundTrip(client);
    const frames: string[] = [];
    client.on("message", (data) => frames.push(String(data)));
    // The client neither reads the close frame nor sends its own.
    client.pause();
    revoke();
    await streamEnd.promise;
    client.send(request(2));
    client.resume();
    await once(client, "close");
    expect({ submitted, frames }).toEqual({ submitted: 1, frames: [] });
  });
});

describe("a failure in the service", () => {
  it("answers INTERNAL_ERROR for its request, without the cause, and keeps the connection", async () => {
    const { open } = await appWith(async () => {
      throw new Error("a secret of the service");
    });
    const client = await open();
    client.send(request(1));
    const [answer] = await once(client, "message");
    expect(String(answer)).toContain("INTERNAL_ERROR");
    expect(String(answer)).not.toContain("secret");
    await roundTrip(client);
    client.terminate();
  });
});
