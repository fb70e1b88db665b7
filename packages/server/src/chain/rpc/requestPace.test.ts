import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPoster, NoAnswerError } from "./httpPoster.js";
import { createRequestPaces, type Priority, pacedPoster, RequestPace } from "./requestPace.js";

describe("RequestPace", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const turns =
    (pace: RequestPace, log: string[]) =>
    (name: string, priority: Priority, maxWaitMs = 60_000, kinds: readonly string[] = []) =>
      void pace.turn(priority, maxWaitMs, kinds).then((hasTurn) => log.push(hasTurn ? name : `no ${name}`));

  it("lets half a second's requests go at once, and at most 10.5 times the rate in any ten seconds", async () => {
    const pace = new RequestPace(10);
    const times: number[] = [];
    for (let i = 0; i < 300; i++) void pace.turn("read", 60_000).then(() => times.push(performance.now()));
    const start = performance.now();
    await vi.advanceTimersByTimeAsync(0);
    expect(times).toHaveLength(5);
    await vi.advanceTimersByTimeAsync(40_000);
    expect(times).toHaveLength(300);
    for (const from of times) {
      const inWindow = times.filter((time) => time >= from && time < from + 10_000);
      expect(inWindow.length).toBeLessThanOrEqual(105);
    }
    expect(Math.max(...times) - start).toBeGreaterThan(29_000);
  });

  it("gives the turn to sends, then to reads, then to the gateway, each in their order", async () => {
    const pace = new RequestPace(2);
    const log: string[] = [];
    const ask = turns(pace, log);
    ask("first", "gateway");
    for (const name of ["g1", "g2"]) ask(name, "gateway");
    for (const name of ["r1", "r2"]) ask(name, "read");
    ask("s1", "send");
    await vi.advanceTimersByTimeAsync(10_000);
    expect(log).toEqual(["first", "s1", "r1", "r2", "g1", "g2"]);
  });

  it("gives up what has no turn in time, and keeps away from a node that asks for it", async () => {
    const pace = new RequestPace(0);
    const log: string[] = [];
    const ask = turns(pace, log);
    pace.holdFor(3_000, ["logs"]);
    // The other requests that were on their way have answers of their own.
    pace.holdFor(1_000, ["logs"]);
    ask("late", "send", 1_000, ["logs"]);
    ask("in time", "read", 5_000, ["blocks", "logs"]);
    await vi.advanceTimersByTimeAsync(0);
    expect(log).toEqual(["no late"]);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(log).toEqual(["no late"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(log).toEqual(["no late", "in time"]);
    ask("at once", "gateway", 0, ["logs"]);
    await vi.advanceTimersByTimeAsync(0);
    expect(log.at(-1)).toBe("at once");
  });

  it("keeps what waits for its rate away from a node that asks for silence meanwhile", async () => {
    const pace = new RequestPace(2);
    const log: string[] = [];
    const ask = turns(pace, log);
    for (const name of ["first", "second"]) ask(name, "read", 60_000, ["logs"]);
    await vi.advanceTimersByTimeAsync(0);
    pace.holdFor(3_000, ["logs"]);
    await vi.advanceTimersByTimeAsync(2_999);
    expect(log).toEqual(["first"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(log).toEqual(["first", "second"]);
  });
});

describe("a paced poster", () => {
  let server: Server;
  let url: string;
  let answers: { readonly status: number; readonly headers?: Record<string, string> }[] = [];
  beforeEach(async () => {
    server = createServer((request, response) => {
      request.resume();
      const { status, headers = {} } = answers.shift() ?? { status: 200 };
      response.writeHead(status, headers).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it.each([
    ["seconds", { "retry-after": "30" }],
    ["a date", { date: "Thu, 26 Nov 2026 20:00:00 GMT", "retry-after": "Thu, 26 Nov 2026 20:00:30 GMT" }],
  ])(
    "sends nothing more of the kind while the node asks for silence, in %s, and says that nothing was sent",
    async (_, headers) => {
      const ending = new AbortController();
      const paces = createRequestPaces(0);
      const poster = (readPriority: Priority) =>
        pacedPoster(createPoster(url, { rpcTimeoutMs: 60_000, signal: ending.signal }), {
          ...{ pace: paces(url), rpcTimeoutMs: 1, readPriority },
        });
      answers = [{ status: 429, headers }];
      const ask = (priority: Priority, isSend: boolean, method: string) =>
        poster(priority).post("[]", isSend, undefined, [method]);
      expect((await ask("gateway", false, "eth_getLogs")).status).toBe(429);
      const error = await ask("gateway", true, "eth_getLogs").catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(NoAnswerError);
      expect((error as NoAnswerError).requests).toBe(0);
      expect((error as NoAnswerError).message).toBe(
        "it asked for no such requests for 30 s more, by Retry-After",
      );
      // The limit may be that of the method, or of clients alone.
      for (const other of [ask("gateway", false, "eth_call"), ask("read", false, "eth_getLogs")])
        expect((await other).status).toBe(200);
      ending.abort();
    },
  );
});
