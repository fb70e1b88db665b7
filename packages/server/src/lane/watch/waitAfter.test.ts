import { expect, it } from "vitest";
import { NodeRpcError, RpcUnavailableError } from "../../chain/rpc/rpc.js";
import { StoreUnavailableError, troubleNamed } from "../../store/database/storeTrouble.js";
import { waitAfter } from "./waitAfter.js";

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
