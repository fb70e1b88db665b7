import { expect, it } from "vitest";
import { createSharedLookup } from "./sharedLookup.js";

it("makes one query for all keys that come during another one", async () => {
  const queries: { readonly keys: readonly string[]; answer(): void }[] = [];
  const lookUp = createSharedLookup(
    (keys: readonly string[]) =>
      new Promise<Map<string, number>>((resolve) => {
        queries.push({ keys, answer: () => resolve(new Map(keys.map((key) => [key, key.length]))) });
      }),
  );
  const first = lookUp("a");
  await expect.poll(() => queries.length).toBe(1);
  const later = ["bb", "ccc", "bb"].map(lookUp);
  queries[0]?.answer();
  expect(await first).toBe(1);
  await expect.poll(() => queries.length).toBe(2);
  expect(queries[1]?.keys).toEqual(["bb", "ccc"]);
  queries[1]?.answer();
  expect(await Promise.all(later)).toEqual([2, 3, 2]);
});

it("rejects for the keys of a query that failed, and for no other", async () => {
  let fails = true;
  const lookUp = createSharedLookup(async (keys: readonly string[]) => {
    if (fails) throw new Error("no");
    return new Map(keys.map((key) => [key, key]));
  });
  await expect(lookUp("a")).rejects.toThrow("no");
  fails = false;
  expect(await lookUp("a")).toBe("a");
});
