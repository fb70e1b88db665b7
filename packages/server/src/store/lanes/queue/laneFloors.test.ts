import { expect, it } from "vitest";
import { type LaneFloor, LaneFloors } from "./laneFloors.js";

const waiver = new Uint8Array(20).fill(1);
const FLOOR: LaneFloor = {
  ...{ waiver, queueFloor: new Date(5_000), queueHead: new Date(6_000) },
  ...{ blockFloor: 7n, serverStart: "first" },
};
const full = (startedAt: number, tookMs = 1) => ({ isFull: true, startedAt, tookMs });
const partial = (startedAt: number) => ({ isFull: false, startedAt, tookMs: 1 });

/** The floors after two full readings, the first of them so old that they count. */
function known() {
  const floors = new LaneFloors();
  floors.replace([FLOOR], full(0));
  floors.replace([FLOOR], full(2_000));
  return floors;
}

it("asks for a reading of everything every second, and less often where that is slow", () => {
  const floors = new LaneFloors();
  expect(floors.isFullDue(0)).toBe(true);
  floors.replace([FLOOR], full(10, 3));
  expect([1_009, 1_010].map((now) => floors.isFullDue(now))).toEqual([false, true]);
  floors.replace([FLOOR], full(1_010, 100));
  floors.replace([{ ...FLOOR, blockFloor: 8n }], partial(1_035));
  expect([6_009, 6_010].map((now) => floors.isFullDue(now))).toEqual([false, true]);
  floors.replace([FLOOR], full(10_000, 60_000));
  expect([19_999, 20_000].map((now) => floors.isFullDue(now))).toEqual([false, true]);
});

it("has the lowest floor of two seconds, in which others may go by the head that they have read, and the newest head", () => {
  const floors = new LaneFloors();
  expect(floors.headOf(waiver)).toBeUndefined();
  const at = (ms: number) => ({ ...FLOOR, queueFloor: new Date(ms), queueHead: new Date(ms) });
  floors.replace([at(3_000)], full(0));
  floors.replace([at(4_000)], partial(1_999));
  expect(floors.of(waiver)).toBeUndefined();
  expect(floors.headOf(waiver)).toEqual(new Date(4_000));
  floors.replace([at(5_000)], partial(2_000));
  expect(floors.of(waiver)?.queueFloor).toEqual(new Date(3_000));
  floors.replace([at(2_000)], full(4_000));
  expect(floors.all).toMatchObject([{ queueFloor: new Date(2_000) }]);
  floors.replace([at(9_000)], partial(5_999));
  floors.replace([at(9_000)], partial(8_000));
  expect(floors.of(waiver)?.queueFloor).toEqual(new Date(9_000));
});

it("asks for a reading of everything at once when a submission was stored in a block below the floor", () => {
  const floors = known();
  floors.lowerTo(waiver, 8n, 2_010);
  expect(floors.isFullDue(2_010)).toBe(false);
  floors.lowerTo(waiver, 5n, 2_020);
  expect(floors.of(waiver)?.blockFloor).toBe(5n);
  // A reading that had begun before does not know of it.
  floors.replace([FLOOR], partial(2_015));
  expect(floors.isFullDue(2_030)).toBe(true);
  floors.replace([{ ...FLOOR, blockFloor: 5n }], full(2_030));
  expect(floors.isFullDue(2_040)).toBe(false);
  expect(floors.of(waiver)?.blockFloor).toBe(5n);
});

it("has no floors after the store has come to another server, until a reading of everything there", () => {
  const floors = known();
  const onOther = { ...FLOOR, serverStart: "other" };
  floors.replace([onOther], partial(2_035));
  expect(floors.of(waiver)).toBeUndefined();
  expect(floors.isFullDue(2_040)).toBe(true);
  floors.replace([onOther], full(2_040));
  floors.replace([onOther], partial(4_040));
  expect(floors.of(waiver)).toEqual(onOther);
});
