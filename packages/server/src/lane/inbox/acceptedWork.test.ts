import { expect, it } from "vitest";
import { newSubmissionOf } from "../../../test/support/submissions.js";
import { createAcceptedWork } from "./acceptedWork.js";

const { waiver } = newSubmissionOf(1);

/** Accepted work on a chain whose accounts have the nonce 3, and which counts the requests. */
function accepting() {
  const clock = { now: 0 };
  const asked: number[] = [];
  const chain = {
    nonces: async (addresses: readonly Uint8Array[]) => {
      asked.push(addresses.length);
      return addresses.map(() => 3n);
    },
  };
  return { asked, clock, work: createAcceptedWork(chain, () => clock.now) };
}

it("hands a lane what was accepted for it, once", () => {
  const { work } = accepting();
  work.add(waiver, newSubmissionOf(1));
  work.add(new Uint8Array(20), newSubmissionOf(2));
  expect(work.take(waiver).submissions.map(({ sender }) => sender)).toEqual([newSubmissionOf(1).sender]);
  expect(work.take(waiver).submissions).toEqual([]);
});

it("fetches the nonces of a write's senders beside it, in one request, for a lane that is ready for them", async () => {
  const { asked, work } = accepting();
  const [one, two] = [newSubmissionOf(1), newSubmissionOf(2)];
  work.prepare([one, two]);
  expect(asked).toEqual([]);
  work.setReady(waiver, true);
  work.prepare([one, two]);
  work.add(waiver, one);
  work.add(waiver, two);
  const nonces = await work.take(waiver).nonces();
  expect([asked, nonces?.waiver, nonces?.of(one.sender), nonces?.of(two.sender)]).toEqual([[3], 3n, 3n, 3n]);
});

it("fetches nothing for a lane that has taken no step for a quarter of a second", () => {
  const { asked, clock, work } = accepting();
  work.setReady(waiver, true);
  clock.now = 250;
  work.prepare([newSubmissionOf(1)]);
  expect(asked).toEqual([]);
});

it("knows no nonces where a part was not fetched, failed, or is older than a second", async () => {
  const { clock, work } = accepting();
  work.setReady(waiver, true);
  work.prepare([newSubmissionOf(1)]);
  work.add(waiver, newSubmissionOf(1));
  work.add(waiver, newSubmissionOf(2));
  expect(await work.take(waiver).nonces()).toBeUndefined();

  work.prepare([newSubmissionOf(1)]);
  clock.now = 1_000;
  work.add(waiver, newSubmissionOf(1));
  expect(await work.take(waiver).nonces()).toBeUndefined();

  const failing = createAcceptedWork({ nonces: () => Promise.reject(new Error("no node answers")) });
  failing.setReady(waiver, true);
  failing.prepare([newSubmissionOf(1)]);
  failing.add(waiver, newSubmissionOf(1));
  expect(await failing.take(waiver).nonces()).toBeUndefined();
});

it("knows no nonces of a lane for which none were fetched, because the accept write has left a sender in it", async () => {
  const { work } = accepting();
  const other = new Uint8Array(20);
  work.setReady(other, true);
  const submission = newSubmissionOf(1);
  work.prepare([{ ...submission, waiver: other }]);
  work.add(waiver, submission);
  expect(await work.take(waiver).nonces()).toBeUndefined();
});

it("says when the store has more, or what was accepted is old", () => {
  const { clock, work } = accepting();
  for (let user = 1; user <= 101; user++) work.add(waiver, newSubmissionOf(user));
  const taken = work.take(waiver);
  expect([taken.submissions.length, taken.isIncomplete]).toEqual([100, true]);
  work.add(waiver, newSubmissionOf(1));
  clock.now = 1_000;
  expect(work.take(waiver).isIncomplete).toBe(true);
});

it("keeps few bytes for a lane whose steps another replica takes", () => {
  const { work } = accepting();
  const large = { ...newSubmissionOf(1), innerRaw: new Uint8Array(100_000) };
  for (let i = 0; i < 5; i++) work.add(waiver, large);
  const taken = work.take(waiver);
  expect([taken.submissions.length, taken.isIncomplete]).toEqual([2, true]);
});

it("leaves large writes to the queue", () => {
  const { asked, work } = accepting();
  work.setReady(waiver, true);
  work.prepare(Array.from({ length: 17 }, (_, user) => newSubmissionOf(user + 1)));
  expect(asked).toEqual([]);
});
