import { expect, it } from "vitest";
import { LaneFloors } from "./laneFloors.js";

const waiver = new Uint8Array(20).fill(1);

it("asks for a reading of everything every second, and less often where that is slow", () => {
  const floors = new LaneFloors();
  expect(floors.of(waiver)).toBeUndefined();
  expect(floors.isFullDue(0)).toBe(true);
  const floor = { waiver, queueFloor: new Date(5_000), blockFloor: 7n };
  floors.replace([floor], { startedAt: 10, tookMs: 3 });
  expect(floors.of(waiver)).toBe(floor);
  expect([1_009, 1_010].map((now) => floors.isFullDue(now))).toEqual([false, true]);
  floors.replace([floor], { startedAt: 1_010, tookMs: 100 });
  const later = { ...floor, blockFloor: 8n };
  floors.replace([later]);
  expect(floors.of(waiver)).toBe(later);
  expect([6_009, 6_010].map((now) => floors.isFullDue(now))).toEqual([false, true]);
});
