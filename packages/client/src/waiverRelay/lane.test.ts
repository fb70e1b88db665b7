import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openWaiverRelay } from "./waiverRelay.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const TO = "0x000000000000000000000000000000000000dead";
const user = { privateKey: `0x${"11".repeat(32)}` } as const;
const waiver = { privateKey: `0x${"22".repeat(32)}` } as const;

/** A node of chain 0 at block 0, on which nobody has sent anything. */
const fetch: typeof globalThis.fetch = async (_, init) => {
  const asked = JSON.parse(String(init?.body));
  const answers = [asked].flat().map(({ id }) => ({ jsonrpc: "2.0", id, result: "0x0" }));
  return new Response(JSON.stringify(Array.isArray(asked) ? answers : answers[0]));
};

/** Opens a relay whose journal ends its writes when the test says so, and begins a call whose time is a second. */
async function beginCall() {
  const writes: { readonly lines: string; readonly end: () => void }[] = [];
  let onWrite = () => {};
  const written = new Promise<void>((resolve) => (onWrite = resolve));
  const append = (lines: string) =>
    new Promise<void>((end) => {
      writes.push({ lines, end });
      onWrite();
    });
  const journal = { read: async () => undefined, begin: async () => undefined, append };
  const relay = await openWaiverRelay({
    ...{ rpcUrls: ["http://node"], chainId: 0, waiver, fetch, journal, timeoutMs: 1_000 },
  });
  const send = (nonce: number) => relay.send(user, { to: TO, nonce }).catch((error: unknown) => error);
  const call = send(0);
  await written;
  return { relay, send, call, writes };
}

it("writes one thing after the other: a failure before the bytes that it is about would spoil the journal", async () => {
  const { relay, call, writes } = await beginCall();
  // The time of the call is over while its bytes are written.
  await vi.advanceTimersByTimeAsync(1_000);
  expect(writes).toHaveLength(1);
  writes[0]?.end();
  await vi.advanceTimersByTimeAsync(0);
  const written = ["inner", "ending"].map((what) => ({ lines: expect.stringContaining(what) }));
  expect(writes).toMatchObject(written);
  writes[1]?.end();
  expect(await call).toMatchObject({ reason: "NOT_BROADCAST", inDoubt: [] });
  await Promise.all([relay.close(), vi.runAllTimersAsync()]);
});

it("leaves a call in doubt whose failure the journal does not take", async () => {
  const { relay, call, writes } = await beginCall();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await call).toMatchObject({ code: "TIMEOUT", inDoubt: [{ index: 0 }] });
  writes[0]?.end();
  await Promise.all([relay.close(), vi.runAllTimersAsync()]);
});

it("says that it is closed, also to a call that comes during the last write", async () => {
  const { relay, send, call, writes } = await beginCall();
  const closed = relay.close();
  const isClosed = { message: expect.stringContaining("the relay is closed") };
  expect([await call, await send(1)]).toMatchObject([isClosed, isClosed]);
  writes[0]?.end();
  await Promise.all([closed, vi.runAllTimersAsync()]);
});
