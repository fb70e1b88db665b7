import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import type { Logger } from "../../model/telemetry/log.js";
import { createMetrics } from "../../model/telemetry/metrics.js";
import { FailedAuthentications, UNKNOWN_KEY_LIMITS } from "./failedAuthentications.js";

const GUESS = { interface: "api", address: "192.0.2.7", reason: "UNKNOWN_KEY" } as const;

/** Counts failures by a clock of the test, and keeps what is logged. */
function start() {
  let now = 0;
  const logged: unknown[][] = [];
  const log = { warn: (...line: unknown[]) => logged.push(line) } as unknown as Logger;
  const metrics = createMetrics(new Registry(), () => []);
  const failures = new FailedAuthentications({ log, metrics, now: () => now });
  const metric = async (name: string) => (await metrics.registry.getSingleMetricAsString(name)).split("\n");
  const pass = (ms: number) => {
    now += ms;
  };
  return { failures, logged, metric, pass };
}

describe("failed authentications", () => {
  it("are logged with their address and reason, ten a second and the number of the others", () => {
    const { failures, logged, pass } = start();
    for (let i = 0; i < 25; i++) failures.add(GUESS);
    expect(logged).toHaveLength(10);
    expect(logged[0]).toEqual([GUESS, "an authentication failed"]);
    pass(1_000);
    const expired = { ...GUESS, reason: "KEY_EXPIRED", keyId: "0123456789abcdef" } as const;
    failures.add(expired);
    expect(logged.at(-1)).toEqual([{ ...expired, notLogged: 15 }, "an authentication failed"]);
  });

  it("are counted in metrics, by interface and reason, with the addresses that are slowed down", async () => {
    const { failures, metric, pass } = start();
    for (let i = 0; i < UNKNOWN_KEY_LIMITS.rateBurst; i++) failures.add(GUESS);
    failures.add({ ...GUESS, interface: "admin", address: "192.0.2.8" });
    expect(await metric("gas_waiver_failed_authentications_total")).toEqual(
      expect.arrayContaining([
        'gas_waiver_failed_authentications_total{interface="api",reason="UNKNOWN_KEY"} 50',
        'gas_waiver_failed_authentications_total{interface="admin",reason="UNKNOWN_KEY"} 1',
      ]),
    );
    expect(await metric("gas_waiver_slowed_addresses")).toContain("gas_waiver_slowed_addresses 1");
    pass(1_000);
    expect(await metric("gas_waiver_slowed_addresses")).toContain("gas_waiver_slowed_addresses 0");
  });

  it("say how long the address has to wait", () => {
    const { failures, pass } = start();
    for (let i = 0; i < UNKNOWN_KEY_LIMITS.rateBurst; i++) failures.add(GUESS);
    const refusal = () => failures.assertMayGuess("api", GUESS.address, undefined);
    expect(refusal).toThrow(
      expect.objectContaining({ retryAfterSeconds: 1, reason: "TOO_MANY_UNKNOWN_KEYS" }),
    );
    pass(1_000);
    expect(refusal).not.toThrow();
  });

  it("at one interface slow nobody down at the other", () => {
    const { failures } = start();
    for (let i = 0; i < UNKNOWN_KEY_LIMITS.rateBurst; i++) failures.add(GUESS);
    expect(() => failures.assertMayGuess("api", GUESS.address, "a key")).toThrow("too many unknown keys");
    expect(() => failures.assertMayGuess("admin", GUESS.address, "a token")).not.toThrow();
    failures.addValid("admin", GUESS.address, "a token");
    expect(() => failures.assertMayGuess("api", GUESS.address, "a token")).toThrow("too many unknown keys");
  });
});
