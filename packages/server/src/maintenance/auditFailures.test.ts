import { afterEach, expect, it, vi } from "vitest";
import type { FailureCount } from "../model/keys/failedAuthentication.js";
import { createLog } from "../model/telemetry/log.js";
import { startAuditingFailures } from "./auditFailures.js";

afterEach(() => {
  vi.useRealTimers();
});

/** Audits the failures of 500 addresses in each interval. @returns the rows, and an end. */
function auditFlood() {
  const written: unknown[][] = [];
  const query = async (_: unknown, values: readonly unknown[] = []) => {
    written.push([...values]);
    return { rows: [], rowCount: 1 };
  };
  const counts = Array.from({ length: 500 }, (_, i) => {
    const failure = {
      interface: "api",
      reason: "UNKNOWN_KEY",
      address: `10.0.0.${i}`,
      count: i + 1,
    } as const;
    return failure satisfies FailureCount;
  });
  const store = { pool: { query }, monitor: { trouble: undefined } };
  const audit = startAuditingFailures({
    store: store as never,
    failures: { takeCounts: () => counts },
    log: createLog("silent"),
  });
  return { written, close: audit.close };
}

it("a flood of bad keys from many addresses adds 20 entries to the audit, the last one for all the others", async () => {
  const { written, close } = auditFlood();
  await close();
  expect(written).toHaveLength(20);
  const changes = written.map((values) => JSON.parse(String(values[5])));
  expect(changes[0].count.to).toBe(500);
  expect(changes[19]).toEqual({ addresses: { to: 481 }, count: { to: (481 * 482) / 2 } });
});

it("a flood of bad keys that lasts a day adds a thousand entries: the audit keeps them for good", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  const { written, close } = auditFlood();
  await vi.advanceTimersByTimeAsync(86_400_000);
  await close();
  expect(written.length).toBeGreaterThan(1_000);
  expect(written.length).toBeLessThan(1_200);
});
