import { expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import type { LaneSnapshot } from "../../store/lanes/queue/laneSnapshot.js";
import type { AcceptedSubmission, TakenWork } from "./acceptedWork.js";
import { createLaneMemory, type LaneMemory } from "./laneMemory.js";

const HELD = { chain: 1, waiver: bytes(20, 1), owner: "replica", epoch: 1n };
const LIMIT = 16;
const PLACES = 50;

const EMPTY: LaneSnapshot = {
  ...{ ready: 0, hasMoreReady: false, keyIds: [], due: 0, inFlightOfKeys: new Map(), senders: [] },
  isWhole: true,
  assigned: { count: 2, lowest: 7n, highest: 8n },
  inFlight: 2,
  nextAfterIncluded: 7n,
};

function submission(user: number, senderNonce = 0n): AcceptedSubmission {
  const inner = { innerRaw: bytes(100, user), innerHash: bytes(32, user) };
  const id = `${user} ${senderNonce}`;
  return { id, keyId: "key", ...inner, sender: bytes(20, user), senderNonce, acceptedAt: 0 };
}

function work(...submissions: AcceptedSubmission[]): TakenWork {
  return { submissions, isIncomplete: false, nonces: async () => undefined };
}

/** A memory after a step that has read an empty queue, and its clock. */
function remembering() {
  const clock = { now: 0 };
  const memory = createLaneMemory(() => clock.now);
  memory.begin(HELD).end(EMPTY, []);
  return { clock, memory };
}

const idsOf = (snapshot: LaneSnapshot | undefined) =>
  snapshot?.senders.map(({ queued }) => queued.map(({ id }) => id));
/** The ids that a step takes by what is remembered, and does not sign. */
const recall = (memory: LaneMemory, taken = work(submission(1)), places = PLACES) =>
  idsOf(memory.begin(HELD).snapshotOf(taken, LIMIT, places));

it("shows what was accepted since the queue was empty, of each sender in the order of the nonces", () => {
  const { memory } = remembering();
  const taken = work(submission(1, 1n), submission(2), submission(1, 0n));
  const snapshot = memory.begin(HELD).snapshotOf(taken, LIMIT, PLACES);
  expect(idsOf(snapshot)).toEqual([["1 0", "1 1"], ["2 0"]]);
  const positions = snapshot?.senders.map(({ queued }) => queued.map(({ position }) => position));
  expect(positions, "the waiver nonces follow them").toEqual([[0, 1], [2]]);
  expect(snapshot).toMatchObject({
    assigned: EMPTY.assigned,
    nextAfterIncluded: 7n,
    ready: 3,
    isWhole: true,
  });
});

it("counts the nonces of each step", () => {
  const { memory } = remembering();
  const step = memory.begin(HELD);
  const snapshot = step.snapshotOf(work(submission(1)), LIMIT, PLACES) ?? EMPTY;
  step.end(snapshot, [{ sender: bytes(20, 1), waiverNonce: 9n }]);
  const next = memory.begin(HELD).snapshotOf(work(submission(2)), LIMIT, PLACES);
  expect(next?.assigned).toEqual({ count: 3, lowest: 7n, highest: 9n });
});

it("is of no use before a step has read an empty queue, after one that left something or failed, and for another lease", () => {
  const memory = createLaneMemory(() => 0);
  expect(recall(memory)).toBeUndefined();
  memory.begin(HELD).end({ ...EMPTY, isWhole: false }, []);
  expect(recall(memory)).toBeUndefined();
  memory.begin(HELD).end(EMPTY, []);
  memory.begin(HELD);
  expect(recall(memory), "a step that failed").toBeUndefined();
  memory.begin(HELD).end(EMPTY, []);
  const later = memory.begin({ ...HELD, epoch: 2n });
  expect(later.snapshotOf(work(submission(1)), LIMIT, PLACES)).toBeUndefined();
});

it("leaves the step that has signed less than the queue had to the store", () => {
  const { memory } = remembering();
  const step = memory.begin(HELD);
  step.end(step.snapshotOf(work(submission(1)), LIMIT, PLACES) ?? EMPTY, []);
  expect([step.isKnown, recall(memory)]).toEqual([false, undefined]);
});

it("is forgotten when something else has work for the lane, also while a step runs", () => {
  const { memory } = remembering();
  memory.forget();
  expect(recall(memory)).toBeUndefined();
  const step = memory.begin(HELD);
  memory.forget();
  step.end(EMPTY, []);
  expect(recall(memory)).toBeUndefined();
});

it("lets no more than 250 ms pass between two readings of the store", () => {
  const { clock, memory } = remembering();
  clock.now = 200;
  const step = memory.begin(HELD);
  const snapshot = step.snapshotOf(work(submission(1)), LIMIT, PLACES);
  step.end(snapshot ?? EMPTY, [{ sender: bytes(20, 1), waiverNonce: 9n }]);
  clock.now = 249;
  expect(step.isKnown).toBe(true);
  clock.now = 250;
  expect(recall(memory, work(submission(2)))).toBeUndefined();
});

it("does not take again what the store has shown already", () => {
  const { memory } = remembering();
  const sender = { sender: bytes(20, 3), inFlightNonces: new Set<bigint>() };
  const one = {
    ...submission(3),
    signings: 0,
    strikes: 0,
    position: 0,
    ageMs: 0,
    isSetAside: false,
    isWaiting: false,
  };
  const shown = { ...EMPTY, senders: [{ ...sender, queued: [one] }] };
  memory.begin(HELD).end(shown, [{ sender: bytes(20, 4), waiverNonce: 9n }]);
  const taken = work(submission(3), submission(2));
  expect(recall(memory, taken)).toEqual([["2 0"]]);
});

it("leaves to the store the next of a sender in flight, more than there are places for, and more than the limit", () => {
  for (const [taken, places] of [
    [work(submission(1, 1n)), PLACES],
    [work(submission(2)), 2],
    [{ ...work(submission(2)), isIncomplete: true }, PLACES],
    [work(...Array.from({ length: 17 }, (_, user) => submission(user + 2))), PLACES],
  ] as const) {
    const { memory } = remembering();
    memory.begin(HELD).end(EMPTY, [{ sender: bytes(20, 1), waiverNonce: 9n }]);
    memory.begin(HELD).end(EMPTY, []);
    expect(recall(memory, taken, places)).toBeUndefined();
  }
});
