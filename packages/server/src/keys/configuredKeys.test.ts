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
/** The id that earlier versions gave a key. */
const plainId = (key: string) => hashOfKey(key).toString("hex").slice(0, 16);
const idsOf = async (...keys: string[]) => (await identifyKeys(store(), keys)).map(({ keyId }) => keyId);

describe("the id of an API key of the configuration", () => {
  it("stays the same, is the key's own, and cannot be checked against a guess without the store", async () => {
    const ids = await idsOf(FIRST, SECOND);
    expect(await idsOf(SECOND, FIRST)).toEqual([...ids].reverse());
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain(plainId(FIRST));
    await store().pool.query("delete from configured_keys");
    await store().pool.query("delete from store_secrets");
    expect(await idsOf(FIRST)).not.toContain(ids[0]);
  });

  it("is the same on replicas that start at the same time", async () => {
    await store().pool.query("delete from configured_keys");
    await store().pool.query("delete from store_secrets");
    const ids = await Promise.all(Array.from({ length: 8 }, () => idsOf(FIRST, SECOND)));
    expect(new Set(ids.map(String)).size).toBe(1);
  });

  it.each([
    [
      "a request with an Idempotency-Key",
      `insert into keyed_requests (chain, key_id, name_hash, body_hash, ids) values (1, $1, sha256('a'), sha256('b'), '{}')`,
    ],
    [
      "a submission of another key",
      "insert into readers (submission, key_id) values (gen_random_uuid(), $1)",
    ],
    ["a token bucket", "insert into key_rates (key_id, at) values ($1, now())"],
  ])(
    "is the one that an earlier version gave it if %s has it, also when nothing has it any more",
    async (_, sql) => {
      const { pool } = store();
      await pool.query("delete from configured_keys");
      await pool.query("insert into chains (chain_id, genesis_hash) values (1, 'x')");
      await pool.query(sql, [plainId(FIRST)]);
      expect(await idsOf(FIRST, SECOND)).toEqual([
        plainId(FIRST),
        expect.not.stringMatching(plainId(SECOND)),
      ]);
      for (const table of ["keyed_requests", "readers", "key_rates"])
        await pool.query(`delete from ${table}`);
      expect(await idsOf(FIRST)).toEqual([plainId(FIRST)]);
    },
  );
});
