import { ProtocolError, type ResultLine } from "@gas-waiver/protocol";
import { Registry } from "prom-client";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { outcomeOf } from "../../test/support/testService.js";
import { useTestStore } from "../../test/support/testStore.js";
import { createMetrics } from "../model/telemetry/metrics.js";
import type { Store } from "../store/store.js";
import { OpenRequests, ResultLines, type ResultLinesOptions } from "./lines.js";
import type { LineGroup, LineSource } from "./resultLine.js";
import { createResults, type Results } from "./results.js";

// The waiting of one request for its results, apart from HTTP.

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

/** The replica that accepted the submissions. */
const REPLICA = "00000000-0000-7000-8000-000000000001";
const metrics = createMetrics(new Registry(), () => []);

/** Real results that count their listeners. */
function countedResults(): Results & { listening(): number } {
  const results = createResults({ store, log: silent, replica: REPLICA, notifyReplicas: () => {} });
  let listening = 0;
  return {
    ...results,
    subscribe(ids, listener) {
      const unsubscribe = results.subscribe(ids, listener);
      listening += ids.length;
      return () => {
        listening -= ids.length;
        unsubscribe();
      };
    },
    listening: () => listening,
  };
}

const atOnce: ResultLinesOptions["inTurn"] = async (_lines, make) => make();

function request(
  wait: "broadcast" | "included" = "broadcast",
  requestTimeoutMs = 60_000,
  inTurn: ResultLinesOptions["inTurn"] = atOnce,
) {
  const results = countedResults();
  const closing = new AbortController();
  const openRequests = new OpenRequests();
  const lines = new ResultLines({
    store,
    results,
    metrics,
    options: { requestTimeoutMs },
    wait,
    openRequests,
    closing: closing.signal,
    inTurn,
  });
  const entries: LineSource[] = [0, 1, 2].map((index) => ({
    index,
    id: uuidv7(),
    innerHash: new Uint8Array(32).fill(index),
    earlier: false,
  }));
  const ids = entries.map(({ id }) => id);
  lines.expect(ids);
  lines.add(entries);
  lines.complete();
  const moved = ids.map((id) => ({ id, origin: REPLICA }));
  return { results, openRequests, closing, lines, entries, ids, moved };
}

async function all(lines: AsyncIterable<LineGroup>): Promise<ResultLine[]> {
  const received: ResultLine[] = [];
  for await (const group of lines) received.push(...group);
  return received;
}

describe("the result lines of a request", () => {
  it("come in the order in which the results are known, those known before the first read too", async () => {
    const { results, lines, moved } = request();
    results.publish(moved.slice(2), () => ({ state: "broadcast" }));
    const stream = lines.stream()[Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject([{ index: 2 }]);
    const next = stream.next();
    results.publish(moved.slice(1, 2), () => ({ state: "broadcast" }));
    expect((await next).value).toMatchObject([{ index: 1 }]);
    results.publish(moved, () => ({ state: "broadcast" }));
    expect((await stream.next()).value).toMatchObject([{ index: 0 }]);
    expect((await stream.next()).done).toBe(true);
    expect(results.listening()).toBe(0);
    results.close();
  });

  it("come together if they are known together, at most a hundred at a time", async () => {
    const { results, lines, moved } = request();
    const refused = (index: number) => ({
      index,
      id: uuidv7(),
      error: new ProtocolError("NONCE_GAP", "gap"),
    });
    lines.add(Array.from({ length: 100 }, (_, i) => refused(3 + i)));
    results.publish(moved, () => ({ state: "broadcast" }));
    const groups: number[] = [];
    for await (const group of lines.stream()) groups.push(group.length);
    expect(groups).toEqual([100, 3]);
    results.close();
  });

  it("include transactions that are added later, until the request is complete, even while the service closes", async () => {
    const { results, closing, lines, moved } = request();
    const laterLines = new ResultLines({
      store,
      results,
      metrics,
      ...{ options: { requestTimeoutMs: 60_000 }, wait: "broadcast" },
      openRequests: new OpenRequests(),
      closing: closing.signal,
      inTurn: atOnce,
    });
    const received = all(laterLines.stream());
    const refused = (index: number) => ({
      index,
      id: uuidv7(),
      error: new ProtocolError("NONCE_GAP", "gap"),
    });
    laterLines.add([refused(0)]);
    closing.abort();
    laterLines.add([refused(1), { index: 2, id: uuidv7(), innerHash: new Uint8Array(32), earlier: true }]);
    laterLines.complete();
    const gap = "VALIDATION_FAILED/NONCE_GAP";
    expect((await received).map(outcomeOf)).toEqual([gap, gap, "TIMEOUT/OUTCOME_UNKNOWN"]);
    results.publish(moved, () => ({ state: "broadcast" }));
    expect(await all(lines.stream())).toHaveLength(3);
    results.close();
  });

  it("wait for the inclusion if the request asks for it", async () => {
    const { results, lines, ids, moved } = request("included");
    const received = all(lines.stream());
    results.publish(moved, () => ({ state: "broadcast" }));
    results.publish(moved.slice(0, 2), (id) => ({ state: "included", reverted: id === ids[1] }));
    results.publish(moved.slice(2), () => ({ state: "failed", reason: "NONCE_TOO_LOW", message: "used" }));
    const outcomes = (await received).sort((a, b) => a.index - b.index).map(outcomeOf);
    expect(outcomes).toEqual(["success", "BROADCAST_FAILED/REVERTED", "VALIDATION_FAILED/NONCE_TOO_LOW"]);
    results.close();
  });

  it("end with TIMEOUT at the time-out and when the service closes, and then have no listener", async () => {
    const timedOut = request("broadcast", 1);
    expect((await all(timedOut.lines.stream())).map(outcomeOf)).toEqual(
      Array(3).fill("TIMEOUT/OUTCOME_UNKNOWN"),
    );
    const closed = request();
    const received = all(closed.lines.stream());
    closed.closing.abort();
    expect((await received).map(outcomeOf)).toEqual(Array(3).fill("TIMEOUT/OUTCOME_UNKNOWN"));
    for (const { results, openRequests } of [timedOut, closed]) {
      await openRequests.ended();
      expect(results.listening()).toBe(0);
      results.close();
    }
  });

  it("have no listener after the client has left, before the first line or in the middle", async () => {
    const unread = request();
    await unread.lines.stream()[Symbol.asyncIterator]().return?.();
    const abandoned = request();
    abandoned.results.publish(abandoned.moved.slice(0, 1), () => ({ state: "broadcast" }));
    for await (const _ of abandoned.lines.stream()) break;
    for (const { results, openRequests } of [unread, abandoned]) {
      await openRequests.ended();
      expect(results.listening()).toBe(0);
      results.close();
    }
  });

  it("are made in the turn of their party, since thousands of requests may wait for one submission", async () => {
    const turns: { readonly lines: number; readonly begin: () => void }[] = [];
    const { results, lines, moved } = request(
      "broadcast",
      60_000,
      (count, make) => new Promise((resolve) => turns.push({ lines: count, begin: () => resolve(make()) })),
    );
    let received = 0;
    const all = (async () => {
      for await (const group of lines.stream()) received += group.length;
    })();
    results.publish(moved.slice(0, 2), () => ({ state: "broadcast" }));
    await new Promise(setImmediate);
    expect([turns.map((turn) => turn.lines), received]).toEqual([[2], 0]);
    results.publish(moved.slice(2), () => ({ state: "broadcast" }));
    turns[0]?.begin();
    await new Promise(setImmediate);
    expect([turns.map((turn) => turn.lines), received]).toEqual([[2, 1], 2]);
    turns[1]?.begin();
    await all;
    expect(received).toBe(3);
    results.close();
  });

  it("have no listener after a cancel", () => {
    const { results, lines } = request();
    lines.cancel();
    expect(results.listening()).toBe(0);
    results.close();
  });
});
