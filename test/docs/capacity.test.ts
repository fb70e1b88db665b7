// docs/guides/capacity.md: its example and its costs are what the formulas and the service have.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  CONNECTIONS_OF_REPLICA,
  COSTS,
  capacityOf,
  MAX_IN_FLIGHT,
  OUTCOME_BYTES,
  type Plan,
  REQUEST_SIZES,
  shortagesOf,
  WAL_BYTES,
} from "../../docs/.vitepress/theme/capacity/capacity.js";
import { rowsOf } from "../../docs/.vitepress/theme/capacity/rows.js";
import { DEFAULTS } from "../../packages/server/src/model/options/options.js";
import { root } from "../support/program.js";

const page = readFileSync(join(root, "docs/guides/capacity.md"), "utf8");

/** The cells of the rows of a table, which begins with this heading. */
function tableOf(heading: string): string[][] {
  const [, rows = ""] = new RegExp(`^\\| ${heading}.*\n\\|[-|]+\\|\n((?:\\|.*\n)+)`, "m").exec(page) ?? [];
  return rows
    .trimEnd()
    .split("\n")
    .map((row) => row.slice(2, -2).split(" | "));
}

const whole = (value: number) => value.toLocaleString("en");

const EXAMPLE: Plan = {
  perSecond: 579,
  peakFactor: 5,
  requestSize: 10,
  retentionDays: 90,
  replicas: 3,
  waivers: 6,
  blockSeconds: 1,
  kmsMs: 0,
};

describe("the plan of capacity", () => {
  it("has the example's results in its table, and says what does not fit", () => {
    const capacity = capacityOf(EXAMPLE);
    expect(tableOf("needed")).toEqual(rowsOf(EXAMPLE, capacity));
    expect(shortagesOf(EXAMPLE, capacity)).toEqual(["CometBFT's default mempool is too small."]);
  });

  it("has the costs of the formulas in its tables", () => {
    expect(tableOf("in requests of")).toEqual(
      REQUEST_SIZES.map((size) => {
        const { serviceUs, mainThreadUs, databaseUs, transactionIds } = COSTS[size];
        return [size, serviceUs, mainThreadUs, databaseUs, transactionIds].map((value) => whole(value));
      }),
    );
    const amounts = new Map(tableOf("what \\|").map(([what, amount]) => [what, amount]));
    expect(amounts.get("an outcome at rest")).toBe(`${OUTCOME_BYTES} bytes`);
    expect(amounts.get("WAL of a submission")).toBe(`${whole(WAL_BYTES)} bytes`);
    expect(amounts.get("connections of a replica")).toBe(String(CONNECTIONS_OF_REPLICA));
    expect(amounts.get("wrappers of a waiver in the mempool")).toBe(whole(MAX_IN_FLIGHT));
  });

  it("uses the service's own defaults", () => {
    const { laneConnections, acceptConnections, readConnections, adminConnections } = DEFAULTS;
    // One more is for leases, one for the vacuum, and two are for notifications and for the state of the database.
    expect(CONNECTIONS_OF_REPLICA).toBe(
      laneConnections + acceptConnections + readConnections + adminConnections + 1 + 1 + 2,
    );
    expect(MAX_IN_FLIGHT).toBe(DEFAULTS.maxInFlight);
  });

  it("names every shortage of a plan that is too small", () => {
    const plan: Plan = { ...EXAMPLE, requestSize: 1, perSecond: 2_000, replicas: 8, waivers: 1, kmsMs: 100 };
    const shortages = shortagesOf(plan, capacityOf(plan));
    for (const word of ["one primary", "replicas", "waiver keys", "max_connections", "mempool", "KMS"]) {
      expect(shortages.filter((sentence) => sentence.includes(word))).toHaveLength(1);
    }
  });
});
