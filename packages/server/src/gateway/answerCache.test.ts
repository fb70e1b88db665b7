import { expect, it } from "vitest";
import { createAnswerCache } from "./answerCache.js";
import { EncodedJson, encodeResult } from "./jsonRpc.js";

const call = { method: "eth_getBlockByNumber", params: ["0x5", true] };
const blockOf = (characters: number) => ({ number: "0x5", input: "f".repeat(characters) });
const cacheAt = (height: bigint, maxCharacters = 1_000) =>
  createAnswerCache({ height: () => height, reorgDepth: 2, maxCharacters });

it("remembers the answer of a final block as the text that is sent", () => {
  const cache = cacheAt(7n);
  const encoded = cache.add("key", call, blockOf(3));
  expect(encoded).toBeInstanceOf(EncodedJson);
  expect(cache.get("key")).toBe(encoded);
  expect(encodeResult(1, encoded)).toBe('{"jsonrpc":"2.0","id":1,"result":{"number":"0x5","input":"fff"}}');
});

it("leaves an answer that may change as it is", () => {
  const cache = cacheAt(6n);
  const block = blockOf(3);
  expect(cache.add("key", call, block)).toBe(block);
  expect(cache.get("key")).toBeUndefined();
});

it("remembers what takes up to a quarter of its room, and forgets what was not asked for longest", () => {
  const cache = cacheAt(7n);
  cache.add("too large", call, blockOf(250));
  expect(cache.get("too large")).toBeUndefined();
  for (let i = 0; i < 5; i++) cache.add(`${i}`, call, blockOf(200));
  expect([0, 1, 4].map((i) => cache.get(`${i}`) !== undefined)).toEqual([false, true, true]);
});
