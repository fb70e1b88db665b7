import { afterAll, beforeAll, expect, it } from "vitest";
import { bytes } from "../../test/support/submissions.js";
import { TestPostgres } from "../../test/support/testPostgres.js";
import { adoptChain, lastChain } from "./chains.js";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres?.end());

it("is one chain for all replicas that meet it first at the same time", async () => {
  const store = await postgres.openStore();
  const identity = { chainId: 2201, genesisHash: bytes(32, 1) };
  const refs = await Promise.all(Array.from({ length: 8 }, () => adoptChain(store, identity)));
  expect(new Set(refs).size).toBe(1);
  expect(await lastChain(store)).toMatchObject({ chainRef: refs[0] });
  const next = await adoptChain(store, { ...identity, genesisHash: bytes(32, 2) });
  expect(next).toBeGreaterThan(refs[0] ?? 0);
  await store.close();
});
