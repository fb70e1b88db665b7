import { expect, it } from "vitest";
import { useTestStore } from "../../../test/support/testStore.js";
import { NodeRpcError, RpcUnavailableError } from "../../chain/rpc/rpc.js";
import { StoreUnavailableError, troubleNamed } from "../../store/database/storeTrouble.js";
import type { Store } from "../../store/store.js";
import { waitAfter } from "./laneWaits.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

it.each([
  [new RpcUnavailableError("HTTP 402", "unknown"), { cause: "nodes", sentence: "HTTP 402" }],
  [new NodeRpcError(-32_000, "no balance"), { cause: "nodes", sentence: "no balance" }],
  [
    new StoreUnavailableError(troubleNamed("full"), "could not extend file base/1"),
    { cause: "store", sentence: "the store has no room left" },
  ],
  [new StoreUnavailableError(troubleNamed("unreachable")), undefined],
])("after %s names the wait", (error, wait) => {
  expect(waitAfter(error)).toEqual(wait);
});

it("after a statement that the store refuses names the wait, whatever the refusal says", async () => {
  const error = await store.pool.query("select 1/0").catch((failure: unknown) => failure);
  expect(waitAfter(error)).toEqual({ cause: "store", sentence: "the store refuses a statement" });
});
