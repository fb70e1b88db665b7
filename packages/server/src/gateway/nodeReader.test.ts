import { expect, it } from "vitest";
import { deferred } from "../../test/support/deferred.js";
import type { RpcOutcome } from "../chain/rpc/rpc.js";
import type { Caller } from "../model/keys/caller.js";
import { createNodeReader } from "./nodeReader.js";

const caller = { keyId: "key" } as Caller;
const CALL = { method: "eth_getTransactionCount", params: ["0x12", "pending"] };

/** A node whose answers the test gives, and a reader without memory. */
function startReader() {
  const asked: { answer(result: unknown): void }[] = [];
  const read = async () => {
    const answered = deferred<RpcOutcome[]>();
    asked.push({ answer: (result) => answered.resolve([{ result }]) });
    return await answered.promise;
  };
  const reader = createNodeReader(
    { read, send: async () => [] },
    { get: () => undefined, add: (_key, _call, result) => result, clear: () => {} },
  );
  return { asked, reader };
}

it("makes one call of identical ones at the same time", async () => {
  const { asked, reader } = startReader();
  const answers = [reader.read(CALL, caller), reader.read(CALL, caller)];
  expect(asked).toHaveLength(1);
  asked[0]?.answer("0x1");
  expect(await Promise.all(answers)).toEqual(["0x1", "0x1"]);
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
