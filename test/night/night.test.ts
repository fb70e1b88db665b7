// A short run of `npm run night`, with all the patience that a busy machine needs.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../support/childProgram.js";
import { Alarms } from "./alarms.js";
import { runNight, TROUBLE_NAMES, tableOf } from "./index.js";
import type { Trouble } from "./trouble.js";
import { TROUBLES } from "./troubles.js";

const night = (...args: string[]) =>
  spawnSync(process.execPath, [join(root, "scripts", "night.mjs"), ...args], { encoding: "utf8" });

describe("npm run night", () => {
  it("shows its usage, and refuses options that it cannot use", () => {
    expect(night("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("--only") });
    expect(night("--rate", "0")).toMatchObject({ status: 2, stderr: expect.stringContaining("--rate") });
  });

  it("waits for alarms that exist", () => {
    const names = new Alarms(1, (expr) => expr).names;
    const awaited = Object.values<Trouble>(TROUBLES).flatMap(({ alarms }) => alarms);
    expect(awaited.filter((name) => !names.includes(name))).toEqual([]);
    expect(TROUBLE_NAMES.length).toBeGreaterThanOrEqual(21);
  });

  it("has a locked table named and alarmed, ends it by its runbook, and loses nothing", async () => {
    const result = await runNight({
      ...{ only: ["tableLocked"], rate: 2, seed: 1 },
      ...{ patience: Number.POSITIVE_INFINITY, signal: new AbortController().signal },
    });
    expect(result.findings).toEqual([]);
    expect(result.troubles).toMatchObject([
      {
        signal: expect.stringContaining('"blocker"'),
        alarmS: expect.any(Number),
        fired: expect.arrayContaining(["GasWaiverDatabaseBlocked"]),
        missing: [],
      },
    ]);
    expect(result.transactions).toBeGreaterThan(0);
    expect(tableOf(result)).toContain("lost 0, doubled 0");
  });
});
