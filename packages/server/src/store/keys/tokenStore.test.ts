import { expect, it } from "vitest";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Store } from "../store.js";
import { createTokenStore } from "./tokenStore.js";

let store: Store;
useTestStore("emptied", (opened) => {
  store = opened;
});

it("a clock that is set back by 12 minutes takes no tokens from a key", async () => {
  const tokens = createTokenStore(store);
  const request = {
    keyId: "key",
    limits: { ratePerSecond: 10, rateBurst: 20 },
    needs: [5],
    prefetch: 0,
  };
  expect(await tokens.take(request)).toMatchObject({ granted: [true] });
  await store.pool.query("update key_rates set at = at + interval '12 minutes'");
  expect(await tokens.take(request)).toMatchObject({ granted: [true] });
});
