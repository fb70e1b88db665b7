import { ProtocolError } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { deferred } from "../../test/support/deferred.js";
import { ResponseTooLargeError } from "../chain/rpc/httpPoster.js";
import { type RpcCall, type RpcOutcome, RpcUnavailableError } from "../chain/rpc/rpc.js";
import type { Caller } from "../model/keys/caller.js";
import { createNodeReader } from "./nodeReader.js";

const caller = { keyId: "key" } as Caller;
const CALL = { method: "eth_getTransactionCount", params: ["0x12", "pending"] };

const NO_MEMORY = new RpcUnavailableError("no memory", "unknown", {
  cause: new ResponseTooLargeError("no memory", {
    cause: new ProtocolError("BODIES_AT_CAPACITY", "this address holds all"),
  }),
});

/** A node whose answers the test gives, and a reader without memory. */
function startReader() {
  const asked: { answer(result: unknown): void; noMemory(): void }[] = [];
  const counted: string[] = [];
  const charged: string[] = [];
  const read = async ([call]: readonly RpcCall[]) => {
    const answered = deferred<RpcOutcome[]>();
    call?.openMemory?.();
    asked.push({
      answer: (result) => answered.resolve([{ result }]),
      noMemory: () => answered.resolve([{ error: NO_MEMORY }]),
    });
    return await answered.promise;
  };
  const reader = createNodeReader(
    { read, send: async () => [] },
    { get: () => undefined, add: (_key, _call, result) => result, clear: () => {} },
    ({ keyId }) => {
      counted.push(keyId);
      return { grow: () => {}, release: () => {} };
    },
    ({ keyId }) => charged.push(keyId),
  );
  return { asked, counted, charged, reader };
}

it("makes one call of identical ones at the same time", async () => {
  const { asked, reader } = startReader();
  const answers = [reader.read(CALL, caller), reader.read(CALL, caller)];
  expect(asked).toHaveLength(1);
  asked[0]?.answer("0x1");
  expect(await Promise.all(answers)).toEqual(["0x1", "0x1"]);
});

it("charges whoever asks for calls, and nobody who asks for what is asked for already", async () => {
  const { asked, charged, reader } = startReader();
  const answers = ["key", "other"].map((keyId) => reader.read(CALL, { keyId } as Caller));
  asked[0]?.answer("0x1");
  await Promise.all(answers);
  void reader.send("0x00", caller).catch(() => {});
  expect(charged).toEqual(["key", caller.keyId]);
});

it("leaves places at the node to other keys while the addresses under a publishable one hold theirs", async () => {
  const { asked, reader } = startReader();
  const ask = (keyId: string, address?: string) =>
    reader.read({ method: "eth_call", params: [keyId, asked.length] }, {
      keyId,
      ...(address && { address }),
    } as Caller);
  const flood = Array.from({ length: 200 }, (_, i) => ask("page", `10.0.0.${i}`));
  const held = asked.length;
  const others = [ask("secret"), ask("other page", "10.0.0.1"), ask("another page", "10.0.1.1")];
  expect([held, asked.length]).toEqual([32, 35]);
  for (let answered = 0; answered < 203; answered++) {
    asked[answered]?.answer("0x1");
    await new Promise(setImmediate);
  }
  await Promise.all([...flood, ...others]);
});

it("makes a call of its own where the answer must not be older than the question", async () => {
  const { asked, reader } = startReader();
  const before = reader.read(CALL, caller);
  const fresh = reader.read(CALL, caller, { fresh: true });
  expect(asked).toHaveLength(2);
  asked[0]?.answer("0x1");
  asked[1]?.answer("0x2");
  expect([await before, await fresh]).toEqual(["0x1", "0x2"]);
});

it("writes an answer once for all who have asked for it at the same time", async () => {
  const { asked, reader } = startReader();
  const answers = [reader.pass(CALL, caller), reader.pass(CALL, caller)];
  asked[0]?.answer({ large: true });
  const [first, second] = await Promise.all(answers);
  expect(first?.text).toBe('{"large":true}');
  expect(second).toBe(first);
});

it("answers null where the node has no result", async () => {
  const { asked, reader } = startReader();
  const answer = reader.pass(CALL, caller);
  asked[0]?.answer(undefined);
  expect((await answer).text).toBe("null");
});

it("counts an answer on its way once, for the first of all who have asked for it", async () => {
  const { asked, counted, reader } = startReader();
  const answers = ["key", "other"].map((keyId) => reader.read(CALL, { keyId } as Caller));
  asked[0]?.answer("0x1");
  expect(await Promise.all(answers)).toEqual(["0x1", "0x1"]);
  expect(counted).toEqual(["key"]);
});

it("asks anew for a client that has joined a call of one without memory for the answer", async () => {
  const { asked, counted, reader } = startReader();
  const [first, other] = ["key", "other"].map((keyId) => reader.read(CALL, { keyId } as Caller));
  asked[0]?.noMemory();
  await expect(first).rejects.toMatchObject({ reason: "BODIES_AT_CAPACITY" });
  asked[1]?.answer("0x1");
  expect(await other).toBe("0x1");
  expect(counted).toEqual(["key", "other"]);
});
