// A short run of `npm run zoo`: cells in which a real node once lost, doubled or failed work.
import { describe, expect, it } from "vitest";
// Ends the processes that a failed test has left running.
import "../support/program.js";
import { cellsOf, runZoo } from "./runZoo.js";

describe("a service behind the nodes of the zoo", () => {
  it("loses, doubles and fails nothing", async () => {
    const { cells, violations } = await runZoo({
      cells: [
        { personality: "cosmos", fault: "troubleAfter", pool: "strict", seed: 3 },
        { personality: "balanced", fault: "splitBatch", pool: "queued", seed: 3 },
        { personality: "nethermind", fault: "gatewayAfter", pool: "strict", seed: 3 },
      ],
      jobs: 3,
    });
    expect(
      cells.flatMap(({ findings }) => findings),
      cells.map(({ log }) => log).join("\n"),
    ).toEqual([]);
    expect(Object.values(violations).every((count) => count === 0)).toBe(true);
    for (const { executed } of cells) expect(executed).toBeGreaterThan(5);
  }, 300_000);
});

describe("the matrix of the zoo", () => {
  it("has every personality with every fault on both kinds of pool, and one order for one seed", () => {
    const cells = cellsOf({ seed: 1 });
    expect(cells.length).toBe(new Set(cells.map((cell) => JSON.stringify(cell))).size);
    expect(cells.length).toBeGreaterThan(300);
    expect(cellsOf({ seed: 1 })).toEqual(cells);
  });
});
