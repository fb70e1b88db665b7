import { expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { Places } from "./places.js";

const waiver = bytes(20, 1);

/** The gas limit and the bytes of a submission, if not the usual ones. */
type Bulk = { readonly gas?: number; readonly bytes?: number };

/** Places in a queue whose head the test sets, in ms. */
function placesAt(head: number | undefined) {
  const queue = { head };
  const places = new Places({ headOf: () => (queue.head === undefined ? undefined : new Date(queue.head)) });
  const give = (...all: readonly (readonly [keyId: string, user: number, nonce: number, bulk?: Bulk])[]) =>
    places.give(
      all.map(([keyId, user, nonce, { gas = 60_000, bytes: length = 180 } = {}]) => ({
        waiver,
        gasLimit: BigInt(gas),
        innerRaw: bytes(length, 1),
        keyId,
        sender: bytes(20, user),
        senderNonce: BigInt(nonce),
      })),
    );
  const flood = (keyId: string, count: number, users = 1) =>
    give(...Array.from({ length: count }, (_, i) => [keyId, i % users, Math.floor(i / users)] as const));
  return { queue, give, flood };
}

const before = (places: readonly (number | null)[], place: number | null | undefined) =>
  places.filter((other) => other !== null && other < (place ?? 0)).length;

it("puts a single submission at the head, however many another key has queued, and for how many users", () => {
  for (const users of [1, 7, 1_000]) {
    const { give, flood } = placesAt(1_000);
    flood("flood", 1_000, users);
    expect(give(["single", 0, 0])).toEqual([1_000]);
  }
});

it.each([
  ["gas", { gas: 7_500_000 }],
  ["bytes", { bytes: 25_600 }],
])("counts %s: a key of large submissions is behind one of as many small ones", (_, bulk) => {
  const { give, flood } = placesAt(1_000);
  const large = give(...Array.from({ length: 20 }, (_, i) => ["large", i, 0, bulk] as const));
  const small = flood("small", 100, 100);
  expect(before(large, small.at(-1))).toBeLessThan(4);
  const ofOne = give(...Array.from({ length: 20 }, (_, i) => ["other", 1, i, bulk] as const));
  expect(before(ofOne, small.at(-1))).toBeLessThan(4);
});

it("puts a new user of a key before all but the first of another user's long row", () => {
  const { give, flood } = placesAt(1_000);
  const row = flood("key", 1_000);
  expect(before(row, give(["key", 5, 0])[0])).toBeLessThan(2);
});

it("gives keys with long rows the same share, whatever the number of their users", () => {
  const { flood } = placesAt(1_000);
  const [one, many] = [flood("one", 100, 1), flood("many", 100, 5)];
  const inOrder = [...one, ...many].sort((a, b) => Number(a) - Number(b));
  const first = inOrder.slice(0, 100);
  expect(first.filter((place) => one.includes(place)).length).toBeGreaterThan(30);
  expect(first.filter((place) => many.includes(place)).length).toBeGreaterThan(30);
});

it("gives a user's lower nonces the earlier places, whatever their order in a request", () => {
  const { give } = placesAt(1_000);
  const [second, first, third] = give(["key", 1, 1], ["key", 1, 0], ["key", 1, 2]).map(Number);
  expect([first, second, third]).toEqual([first, second, third].sort((a, b) => Number(a) - Number(b)));
});

it("counts nothing against a key that the head has passed", () => {
  const { queue, give, flood } = placesAt(1_000);
  flood("flood", 1_000, 7);
  queue.head = 2_000;
  expect(give(["flood", 1, 0], ["single", 1, 0])).toEqual([2_000, 2_000]);
});

it("gives no place more than a minute ahead of the head, also where the clock was set back", () => {
  const { queue, give, flood } = placesAt(10_000_000);
  flood("flood", 10);
  queue.head = 1_000;
  expect(give(["flood", 0, 10])).toEqual([61_000]);
});

it("gives no place where the head is not known", () => {
  expect(placesAt(undefined).give(["key", 1, 0])).toEqual([null]);
});
