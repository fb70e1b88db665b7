import { expect, it } from "vitest";
import { LaneFloors } from "./laneFloors.js";

const waiver = new Uint8Array(20).fill(1);
const full = (startedAt: number, tookMs: number) => ({ isFull: true, startedAt, tookMs });
const PARTIAL = { isFull: false, startedAt: 35, tookMs: 1 };

it("asks for a reading of everything every second, and less often where that is slow", () => {
  const floors = new LaneFloors();
  expect(floors.of(waiver)).toBeUndefined();
  expect(floors.isFullDue(0)).toBe(true);
  const floor = { waiver, queueFloor: new Date(5_000), blockFloor: 7n, serverStart: "first" };
  floors.replace([floor], full(10, 3));
  expect(floors.of(waiver)).toBe(floor);
  expect([1_009, 1_010].map((now) => floors.isFullDue(now))).toEqual([false, true]);
  floors.replace([floor], full(1_010, 100));
  const later = { ...floor, blockFloor: 8n };
  floors.replace([later], PARTIAL);
  expect(floors.of(waiver)).toBe(later);
  expect([6_009, 6_010].map((now) => floors.isFullDue(now))).toEqual([false, true]);
  floors.replace([floor], full(10_000, 60_000));
  expect([19_999, 20_000].map((now) => floors.isFullDue(now))).toEqual([false, true]);
});

it("asks for a reading of everything at once when a submission was stored in a block below the floor", () => {
  const floors = new LaneFloors();
  const floor = { waiver, queueFloor: new Date(5_000), blockFloor: 7n, serverStart: "first" };
  floors.replace([floor], full(10, 1_000));
  floors.lowerTo(waiver, 8n, 20);
  expect(floors.isFullDue(20)).toBe(false);
  floors.lowerTo(waiver, 5n, 30);
  expect(floors.of(waiver)?.blockFloor).toBe(5n);
  // A reading that had begun before does not know of it.
  floors.replace([floor], PARTIAL);
  expect(floors.isFullDue(40)).toBe(true);
  floors.replace([{ ...floor, blockFloor: 5n }], full(40, 1_000));
  expect(floors.isFullDue(50)).toBe(false);
});

it("has no floors after the store has come to another server, until a reading of everything there", () => {
  const floors = new LaneFloors();
  const floor = { waiver, queueFloor: new Date(5_000), blockFloor: 7n, serverStart: "first" };
  floors.replace([floor], full(10, 1_000));
  const onOther = { ...floor, serverStart: "other" };
  floors.replace([onOther], PARTIAL);
  expect(floors.of(waiver)).toBeUndefined();
  expect(floors.isFullDue(40)).toBe(true);
  floors.replace([onOther], full(40, 1_000));
  expect(floors.of(waiver)).toBe(onOther);
  expect(floors.isFullDue(50)).toBe(false);
});
