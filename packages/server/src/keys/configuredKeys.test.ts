import { describe, expect, it } from "vitest";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";
import { hashOfKey } from "./apiKey.js";
import { identifyKeys } from "./configuredKeys.js";

let opened: Store | undefined;
useTestStore("shared", (store) => {
  opened = store;
});
function store(): Store {
  if (opened === undefined) throw new Error("the store is not open");
  return opened;
}
const [FIRST, SECOND] = ["e1f80c6a7b25d9430a8d61c95f2e7b34", "9a61f3d7c20b85e4f7a3d0169c5b82e1"] as const;
/** The hash that a guess of the key has. */
const plainId = (key: string) => hashOfKey(key).toString("hex").slice(0, 16);
const idsOf = async (...keys: string[]) => (await identifyKeys(store(), keys)).map(({ keyId }) => keyId);

describe("the id of an API key of the configuration", () => {
  it("stays the same, is the key's own, and cannot be checked against a guess without the store", async () => {
    const ids = await idsOf(FIRST, SECOND);
    expect(await idsOf(SECOND, FIRST)).toEqual([...ids].reverse());
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(plainId(FIRST));
    await store().pool.query("delete from store_secrets");
    expect(await idsOf(FIRST)).not.toContain(ids[0]);
  });

  it("is the same on replicas that start at the same time", async () => {
    await store().pool.query("delete from store_secrets");
    const ids = await Promise.all(Array.from({ length: 8 }, () => idsOf(FIRST, SECOND)));
    expect(new Set(ids.map(String)).size).toBe(1);
  });
});
