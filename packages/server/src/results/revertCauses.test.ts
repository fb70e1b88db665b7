import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { deferred } from "../../test/support/deferred.js";
import { bytes } from "../../test/support/submissions.js";
import { silent } from "../../test/support/testPostgres.js";
import { innerOf } from "../../test/support/user.js";
import type { RpcCall } from "../chain/rpc/rpc.js";
import { createRevertCauses, type RevertedSubmission } from "./revertCauses.js";

const idOf = (user: number) => `00000000-0000-7000-8000-${String(user).padStart(12, "0")}`;

function revertedOf(user: number, keyId: string): RevertedSubmission {
  return {
    id: idOf(user),
    keyId,
    innerHash: bytes(32, user),
    sender: bytes(20, user),
    innerRaw: hexToBytes(innerOf(user)),
    blockNumber: 7n,
    blockHash: bytes(32, 7),
  };
}

describe("the search for causes of reverts", () => {
  it("runs few replays of a key at a time, lets another key pass, and gives up what is too many of a key", async () => {
    const answer = deferred();
    const calls: string[] = [];
    const rpc = {
      async read([call]: readonly RpcCall[]) {
        const [request] = (call?.params ?? []) as [{ from: string }];
        if (call?.method === "eth_call") calls.push(request.from.slice(-2));
        await answer.promise;
        return [{ result: "0x" }];
      },
    };
    const store = { pool: { query: async () => ({ rowCount: 1, rows: [] }) } };
    const causes = createRevertCauses({
      store: store as never,
      rpc,
      log: silent,
      patience: { causeMs: 60_000 },
    });
    const ofFlood = Array.from({ length: 30 }, (_, i) => causes.find(revertedOf(i + 1, "flood")));
    const ofOther = causes.find(revertedOf(99, "other"));
    expect(calls).toEqual(["01", "02", "63"]);
    // The last 8 of the flood did not wait: two run, and 20 wait.
    await expect(Promise.all(ofFlood.slice(22))).resolves.toEqual(Array(8).fill(undefined));
    expect(await causes.settled(idOf(23))).toBe(false);
    answer.resolve();
    expect(await ofOther).toBeDefined();
    causes.close();
    expect(await causes.find(revertedOf(98, "other"))).toBeUndefined();
  });
});
