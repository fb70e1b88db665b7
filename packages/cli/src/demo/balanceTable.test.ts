import { expect, it } from "vitest";
import { balanceTable } from "./showGaslessTransfer.js";

it("keeps numbers of any length apart, and in their columns", () => {
  const coins = `${10n ** 36n} wei`;
  const [head = "", ...rows] = balanceTable([
    ["user's native", coins, coins],
    ["user's USDT0", "0", "25"],
  ]);
  expect(head.trim().split(/ {2,}/)).toEqual(["before", "after"]);
  expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
    ["user's native", coins, coins],
    ["user's USDT0", "0", "25"],
  ]);
  expect(new Set([head, ...rows].map(({ length }) => length)).size).toBe(1);
});
