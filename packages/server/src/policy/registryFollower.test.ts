import { afterEach, expect, it, vi } from "vitest";
import { createLog } from "../model/telemetry/log.js";
import { RegistryFollower } from "./registryFollower.js";

afterEach(() => {
  vi.useRealTimers();
});

it("reads all policies again after ten seconds, where the events of a change came from a node that lagged", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  const block = { number: 1n, hash: "0x01" };
  const read = vi.fn(async () => ({ block, targets: [undefined] }));
  const follower = new RegistryFollower({
    registry: { read, changesSince: async () => ({ kind: "unchanged", block }) },
    ...{
      log: createLog("silent"),
      pollIntervalMs: 400,
      waivers: () => [new Uint8Array(20)],
      onReading: () => {},
    },
  });
  await follower.start();
  await vi.advanceTimersByTimeAsync(9_000);
  expect(read).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(read).toHaveBeenCalledTimes(2);
  await follower.close();
});
