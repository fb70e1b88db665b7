import { expect, it } from "vitest";
import { bytes, newSubmissionOf } from "../../../test/support/submissions.js";
import { StoreUnavailableError, troubleNamed } from "../database/storeTrouble.js";
import { CompetitorGoneError } from "./accept.js";
import { type Accept, groupAccepts } from "./groupAccepts.js";
import type { Acceptance, NewSubmission } from "./newSubmission.js";

const LANE = bytes(20, 1);
const acceptedIn = (newSubmissions: readonly NewSubmission[]): Acceptance[] =>
  newSubmissions.map(() => ({ kind: "accepted", waiver: LANE }));

/** A store whose writes end when the test says so. */
function slowStore() {
  const writes: { newSubmissions: readonly NewSubmission[]; end(error?: Error): void }[] = [];
  const accept: Accept = (newSubmissions) =>
    new Promise((resolve, reject) => {
      writes.push({
        newSubmissions,
        end: (error) => (error ? reject(error) : resolve(acceptedIn(newSubmissions))),
      });
    });
  return {
    writes,
    accept: groupAccepts(accept),
    sizes: () => writes.map((write) => write.newSubmissions.length),
  };
}

const request = (user: number, count: number) =>
  Array.from({ length: count }, (_, i) => newSubmissionOf(user, i));
const turn = () => new Promise((resolve) => setImmediate(resolve));

it("writes one request at once, and those that come during a short write together", async () => {
  const { writes, accept, sizes } = slowStore();
  const answers = [
    accept(request(1, 1)),
    accept(request(2, 2)),
    accept(request(3, 3)),
    accept(request(4, 4)),
  ];
  expect(sizes()).toEqual([1]);
  writes[0]?.end();
  await turn();
  expect(sizes()).toEqual([1, 9]);
  for (const write of writes) write.end();
  expect((await Promise.all(answers)).map((answer) => answer.length)).toEqual([1, 2, 3, 4]);
});

it("writes a request of the key beside a long write, and only one", async () => {
  const { writes, accept, sizes } = slowStore();
  const answers = [100, 1, 2, 3].map((count, user) => accept(request(user + 1, count)));
  expect(sizes()).toEqual([100, 1]);
  writes[1]?.end();
  await turn();
  expect(sizes()).toEqual([100, 1, 5]);
  for (const write of writes) write.end();
  await Promise.all(answers);
});

it("keeps each request in one write, and each write within its maximum", async () => {
  const { writes, accept, sizes } = slowStore();
  const answers = [1, 80, 20, 1].map((count, user) => accept(request(user + 1, count)));
  writes[0]?.end();
  await turn();
  expect(sizes()).toEqual([1, 100, 1]);
  for (const write of writes) write.end();
  await Promise.all(answers);
});

it("writes another key's request beside two writes of one key, and mixes the keys in turns", async () => {
  const { writes, accept, sizes } = slowStore();
  const of = (keyId: string, user: number, count: number) =>
    accept(request(user, count).map((newSubmission) => ({ ...newSubmission, keyId })));
  const flood = Array.from({ length: 12 }, (_, i) => of("flood", i + 1, 25));
  expect(sizes()).toEqual([25, 25]);
  const single = of("single", 20, 1);
  expect(sizes()).toEqual([25, 25, 1]);
  const second = of("second", 21, 1);
  writes[0]?.end();
  await turn();
  // The flood's third request came first, but the second key has its turn in the same write.
  expect(writes[3]?.newSubmissions.map(({ keyId }) => keyId).filter((key) => key === "second")).toHaveLength(
    1,
  );
  expect(sizes()[3]).toBe(76);
  for (let i = 0; i < writes.length; i++) {
    writes[i]?.end();
    await turn();
  }
  await Promise.all([...flood, single, second]);
});

it("fails every request when the store cannot be reached, and otherwise only the request at fault", async () => {
  const connectionRefused = new StoreUnavailableError(troubleNamed("unreachable"));
  const unavailable = groupAccepts(() => Promise.reject(connectionRefused));
  await expect(Promise.all([unavailable(request(1, 1)), unavailable(request(2, 1))])).rejects.toBe(
    connectionRefused,
  );

  const [invalid = newSubmissionOf(9)] = request(9, 1);
  const invalidRequest = new Error("the request is invalid");
  const failsForInvalid = groupAccepts(async (newSubmissions) => {
    await turn();
    if (newSubmissions.includes(invalid)) throw invalidRequest;
    return acceptedIn(newSubmissions);
  });
  // The first request is written at once, the others together.
  const [, , third, fourth] = await Promise.allSettled([
    failsForInvalid(request(1, 1)),
    failsForInvalid(request(2, 1)),
    failsForInvalid([invalid]),
    failsForInvalid(request(3, 2)),
  ]);
  expect(third).toEqual({ status: "rejected", reason: invalidRequest });
  expect(fourth).toMatchObject({ status: "fulfilled", value: [{ kind: "accepted" }, { kind: "accepted" }] });
});

it("repeats a write when a competitor has failed meanwhile, with three attempts at most, and says that it is repeated", async () => {
  const repeated: boolean[] = [];
  const accept = groupAccepts(async (newSubmissions, isRepeated) => {
    repeated.push(isRepeated);
    if (repeated.length < 3) throw new CompetitorGoneError();
    return acceptedIn(newSubmissions);
  });
  expect(await accept(request(1, 1))).toHaveLength(1);
  expect(repeated).toEqual([false, true, true]);
  const alwaysConflicting = groupAccepts(() => Promise.reject(new CompetitorGoneError()));
  await expect(alwaysConflicting(request(1, 1))).rejects.toBeInstanceOf(CompetitorGoneError);
  expect(await accept([])).toEqual([]);
});
