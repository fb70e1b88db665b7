import { expect, it } from "vitest";
import { limitsOfService } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Store } from "../store/store.js";
import { createRecords } from "./records.js";

const HASH = `0x${"ab".repeat(32)}`;

it("a record by the hash of its transaction takes two queries of the store, and is charged for both", async () => {
  const charged: number[] = [];
  const recordOf = createRecords({
    store: {} as Store,
    storeTurns: {
      readOn(_caller, work, queries = 1) {
        charged.push(queries);
        return work();
      },
    },
    lanes: { flush: async () => {} },
    revertCauses: { settled: async () => false },
    refusals: { find: async () => [] },
    byHash: { readable: async () => new Map() },
  });
  const limits = limitsOfService({} as ResolvedOptions);
  const caller = { keyId: "key", limits, allowedTargets: undefined, caps: undefined };
  expect(await recordOf(caller, HASH)).toBeUndefined();
  expect(charged).toEqual([2]);
});
