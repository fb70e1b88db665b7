import { expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { createLaneMemory } from "./laneMemory.js";

const HELD = { chain: 1, waiver: bytes(20, 1), owner: "replica", epoch: 1n };
const NONCES = {
  assigned: { count: 2, lowest: 7n, highest: 8n },
  inFlight: 2,
  nextAfterIncluded: 7n,
};
const EMPTY = { ...NONCES, isEmpty: true };
const signedOf = (user: number, waiverNonce: bigint, slots = 1) => [
  { sender: bytes(20, user), waiverNonce, slots },
];

/** A memory after a step that has read an empty queue, and its clock. */
function remembering() {
  const clock = { now: 0 };
  const memory = createLaneMemory(() => clock.now);
  memory.begin(HELD).endReading(EMPTY, []);
  return { clock, memory };
}

it("counts the nonces of each step", () => {
  const { memory } = remembering();
  memory.begin(HELD).endOffers(signedOf(1, 9n, 20));
  const second = memory.begin(HELD);
  expect(second.nonces).toMatchObject({ assigned: { count: 3, lowest: 7n, highest: 9n }, inFlight: 22 });
  second.endReading(EMPTY, signedOf(2, 10n));
  expect(memory.begin(HELD).nonces).toMatchObject({ assigned: { count: 3, lowest: 7n, highest: 10n } });
});

it("is of no use before a step has read an empty queue, after one that left something or failed, and for another lease", () => {
  const memory = createLaneMemory(() => 0);
  expect(memory.begin(HELD).nonces).toBeUndefined();
  memory.begin(HELD).endReading({ ...EMPTY, isEmpty: false }, []);
  expect(memory.begin(HELD).nonces).toBeUndefined();
  memory.begin(HELD).endReading(EMPTY, []);
  memory.begin(HELD);
  expect(memory.begin(HELD).nonces, "a step that failed").toBeUndefined();
  memory.begin(HELD).endReading(EMPTY, []);
  expect(memory.begin({ ...HELD, epoch: 2n }).nonces).toBeUndefined();
});

it("is of no use where something came during the step, or after it", () => {
  const { memory } = remembering();
  const step = memory.begin(HELD);
  memory.forget();
  step.endOffers(signedOf(1, 9n));
  expect(memory.begin(HELD).nonces).toBeUndefined();
  memory.begin(HELD).endReading(EMPTY, []);
  memory.forget();
  expect(memory.begin(HELD).nonces).toBeUndefined();
});

it("is of no use 250 ms after the last reading, whatever was offered since", () => {
  const { clock, memory } = remembering();
  clock.now = 200;
  memory.begin(HELD).endOffers(signedOf(1, 9n));
  clock.now = 249;
  memory.begin(HELD).endOffers(signedOf(2, 10n));
  clock.now = 250;
  expect(memory.begin(HELD).nonces).toBeUndefined();
});

it("knows for some seconds of whom something was signed, also by a step that left something behind", () => {
  const { clock, memory } = remembering();
  memory.begin(HELD).endReading({ ...EMPTY, isEmpty: false }, signedOf(1, 9n));
  expect([1, 2].map((user) => memory.hasInFlight(bytes(20, user)))).toEqual([true, false]);
  clock.now = 2_000;
  expect(memory.hasInFlight(bytes(20, 1))).toBe(true);
  clock.now = 4_000;
  expect(memory.hasInFlight(bytes(20, 1))).toBe(false);
});
