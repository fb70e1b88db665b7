// The query of `useSubmission` with a WebSocket, against a service that answers what the test says.
import type { ResultLine } from "@gas-waiver/protocol/wire";
import { afterEach, expect, it, vi } from "vitest";
import type { Config } from "wagmi";
import { gaslessChain } from "./gaslessChain.js";
import { submissionQueryOptions } from "./submission.js";

const HASH = `0x${"ab".repeat(32)}` as const;
const record = (state: string) => ({
  ...{ id: "i", state, certainty: "unknown", txHash: HASH, sender: "0x", nonce: "0", acceptedAt: "t" },
});
const chain = gaslessChain({ url: "http://localhost:1", apiKey: "gwp_key", chainId: 2201 });

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The query's reads of these states, one after the other, and the WebSocket's watches, which the test ends. */
function follow(...states: string[]) {
  const events: string[] = [];
  const ends: { line: () => void; fail: () => void }[] = [];
  vi.stubGlobal("fetch", async () => {
    events.push("read");
    return Response.json(record(states.shift() ?? "included"));
  });
  const socket = {
    async *watch(names: readonly string[], { wait }: { wait?: string } = {}): AsyncGenerator<ResultLine> {
      events.push(`watch ${names} ${wait}`);
      await new Promise<void>((line, fail) => ends.push({ line, fail: () => fail(new Error("away")) }));
      yield { index: 0, id: "i", success: true, txHash: HASH };
    },
  };
  const config = { chains: [chain] } as unknown as Config;
  const options = submissionQueryOptions(config, { hash: HASH, socket });
  const read = (signal = new AbortController().signal) => options.queryFn({ signal });
  return { events, ends, read };
}

it("reads a record at once, and then when the WebSocket has the line of the next stage", async () => {
  vi.useFakeTimers();
  const { events, ends, read } = follow("signed", "broadcast", "included");
  expect((await read()).state).toBe("signed");
  const second = read();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(events).toEqual(["read", `watch ${HASH} broadcast`]);
  ends[0]?.line();
  expect((await second).state).toBe("broadcast");
  const third = read();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(events.slice(3)).toEqual([`watch ${HASH} included`]);
  ends[1]?.line();
  expect((await third).state).toBe("included");
});

it("reads after three seconds where the WebSocket is away or has no line, and keeps one watch open", async () => {
  vi.useFakeTimers();
  const { events, ends, read } = follow("queued", "queued", "queued", "queued");
  await read();
  const silent = read();
  await vi.advanceTimersByTimeAsync(3_000);
  await silent;
  const failing = read();
  ends[0]?.fail();
  await vi.advanceTimersByTimeAsync(2_999);
  expect(events).toEqual(["read", `watch ${HASH} broadcast`, "read"]);
  await vi.advanceTimersByTimeAsync(1);
  await failing;
  expect(events).toHaveLength(4);
});

it("ends with the query", async () => {
  const { read } = follow("queued");
  await read();
  const abort = new AbortController();
  const waiting = read(abort.signal);
  abort.abort(new Error("left the page"));
  await expect(waiting).rejects.toThrow("left the page");
});
