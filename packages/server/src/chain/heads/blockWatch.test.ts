import { expect, it } from "vitest";
import { createLog } from "../../model/telemetry/log.js";
import { createBlockWatch } from "./blockWatch.js";

it("asks the node where a head is below the known height, which may be newer", async () => {
  const heights = [7n, 8n];
  const seen: bigint[] = [];
  const watch = createBlockWatch({
    chain: { blockNumber: async () => heights[seen.length] ?? 8n },
    heads: { freshHeight: () => 5n, onNewHead: () => {} },
    pollIntervalMs: 1,
    log: createLog("silent"),
  });
  await new Promise<void>((resolve) => {
    watch.start({
      isAwaited: () => seen.length === 0,
      onNewBlock: (height) => {
        if (height !== undefined && seen.push(height) === 2) resolve();
      },
    });
  });
  await watch.close();
  expect(seen).toEqual([7n, 8n]);
});
