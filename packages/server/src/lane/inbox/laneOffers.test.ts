import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newSubmissionOf } from "../../../test/support/submissions.js";
import { LaneOffers } from "./laneOffers.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const WAIVER = newSubmissionOf(1).waiver;
const ALL = (all: number) => all;
const of = (keyId: string, user: number, nonce = 0) => ({ ...newSubmissionOf(user, nonce), keyId });

const users = (from: number, count: number, keyId = "key") =>
  Array.from({ length: count }, (_, i) => of(keyId, from + i));

/** Offers to a lane that takes offers, and the clock. */
function readyLane() {
  const clock = { now: 0 };
  const woken: string[] = [];
  const inFlight: Uint8Array[] = [];
  const offers = new LaneOffers(
    () => void woken.push("lane"),
    (sender) => inFlight.includes(sender),
    () => clock.now,
  );
  offers.setReady(true);
  return { clock, woken, inFlight, offers };
}

describe("an offer to a lane", () => {
  it("wakes the lane, and is answered as the step ends it", async () => {
    const { offers, woken } = readyLane();
    const [accepted, declined, failed] = [1, 2, 3].map((user) => offers.offer([of("key", user)]));
    expect(woken).toHaveLength(3);
    const [first, second, third] = offers.take(ALL);
    first?.accept();
    second?.decline();
    third?.fail(new Error("the store is away"));
    expect(await accepted).toEqual([{ kind: "accepted", waiver: WAIVER, isSigned: true }]);
    expect(await declined).toBeUndefined();
    await expect(failed).rejects.toThrow("the store is away");
    expect(offers.take(ALL)).toEqual([]);
    expect(offers.isEmpty).toBe(true);
  });

  it("is declined at once by a lane that is not ready, or was so too long ago", async () => {
    const { offers, clock, woken } = readyLane();
    clock.now = 250;
    expect(await offers.offer([of("key", 1)])).toBeUndefined();
    offers.setReady(true);
    offers.setReady(false);
    expect(await offers.offer([of("key", 1)])).toBeUndefined();
    expect(woken).toEqual([]);
  });

  it("is declined at once with two submissions of a sender, of two lanes, or too many", async () => {
    const { offers } = readyLane();
    const otherLane = { ...of("key", 2), waiver: of("key", 2).sender };
    const many = Array.from({ length: 151 }, (_, user) => of("key", user + 1));
    expect(await offers.offer([of("key", 1), of("key", 1, 1)])).toBeUndefined();
    expect(await offers.offer([of("key", 1), otherLane])).toBeUndefined();
    expect(await offers.offer(many)).toBeUndefined();
    expect(await offers.offer([])).toBeUndefined();
    expect(offers.take(ALL)).toEqual([]);
  });

  it("is declined at once where its sender has another offer waiting, or something in flight", async () => {
    const { offers, inFlight } = readyLane();
    const ofUser3 = of("key", 3);
    inFlight.push(ofUser3.sender);
    void offers.offer([of("key", 1)]);
    expect(await offers.offer([of("key", 1, 1)])).toBeUndefined();
    expect(await offers.offer([ofUser3])).toBeUndefined();
    expect(offers.take(ALL)).toHaveLength(1);
    void offers.offer([of("key", 1, 1)]);
    expect(offers.take(ALL)).toHaveLength(1);
  });

  it("is declined at once while the lane pauses, each time for longer until one is accepted", async () => {
    const { offers, clock } = readyLane();
    const resumesAfter = async (ms: number) => {
      offers.pause();
      clock.now += ms - 1;
      offers.setReady(true);
      expect(await offers.offer([of("key", 1)])).toBeUndefined();
      clock.now += 1;
      void offers.offer([of("key", 1)]);
      const [taken] = offers.take(ALL);
      expect(taken).toBeDefined();
      return taken;
    };
    for (const ms of [50, 100, 200, 400, 800, 1_600, 3_200, 5_000]) await resumesAfter(ms);
    (await resumesAfter(5_000))?.accept();
    await resumesAfter(50);
  });

  it("is declined where no step takes anything in time", async () => {
    const { offers } = readyLane();
    const answers = [offers.offer([of("key", 1)]), offers.offer([of("key", 2)])];
    await vi.advanceTimersByTimeAsync(100);
    expect(await Promise.all(answers)).toEqual([undefined, undefined]);
    expect(offers.isEmpty).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits for its turn while steps take others", async () => {
    const { offers } = readyLane();
    const tens = Array.from({ length: 30 }, (_, i) => i * 10 + 1);
    const answers = tens.map((from) => offers.offer(users(from, 10)));
    await vi.advanceTimersByTimeAsync(99);
    for (const one of offers.take(ALL)) one.accept();
    await vi.advanceTimersByTimeAsync(99);
    for (const one of offers.take(ALL)) one.accept();
    expect(await Promise.all(answers)).not.toContain(undefined);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is declined at once behind as many of all keys as two steps take", async () => {
    const { offers } = readyLane();
    for (const from of [1, 101, 201]) void offers.offer(users(from, 100, `key ${from}`));
    expect(await offers.offer([of("another key", 301)])).toBeUndefined();
    offers.take(ALL);
    void offers.offer([of("another key", 301)]);
    expect(offers.take(ALL).flatMap(({ newSubmissions }) => newSubmissions)).toHaveLength(101);
  });

  it("is declined at once behind as many of its key as two steps take, where keys have shares", async () => {
    const { offers } = readyLane();
    const SHARE = () => 16;
    void offers.offer([of("key", 1)]);
    offers.take(SHARE);
    // The first request of a key may have more than its share.
    void offers.offer(users(2, 30));
    void offers.offer(users(32, 2));
    expect(await offers.offer([of("key", 34)])).toBeUndefined();
    void offers.offer([of("another key", 34)]);
    expect(offers.take(SHARE)).toHaveLength(2);
    void offers.offer(users(35, 30));
    expect(offers.take(SHARE)).toHaveLength(1);
  });

  it("is declined at once when the lane pauses, or is not ready any more", async () => {
    const { offers } = readyLane();
    const first = offers.offer([of("key", 1)]);
    offers.setReady(false);
    expect(await first).toBeUndefined();
    offers.setReady(true);
    const second = offers.offer([of("key", 1)]);
    offers.pause();
    expect(await second).toBeUndefined();
    expect(offers.isEmpty).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not wait for a step that others have waited for in vain", async () => {
    const { offers } = readyLane();
    const first = offers.offer([of("key", 1)]);
    await vi.advanceTimersByTimeAsync(100);
    expect(await first).toBeUndefined();
    expect(await offers.offer([of("key", 2)])).toBeUndefined();
    offers.setReady(true);
    void offers.offer([of("key", 2)]);
    expect(offers.take(ALL)).toHaveLength(1);
  });
});

describe("a step that takes offers", () => {
  it("takes the API keys in turns, and of each no more than its share but for one request", async () => {
    const { offers } = readyLane();
    void offers.offer(Array.from({ length: 20 }, (_, i) => of("flood", i + 1)));
    for (let user = 21; user < 60; user++) void offers.offer([of("flood", user)]);
    void offers.offer([of("single", 60)]);
    const taken = () => offers.take(() => 16).flatMap(({ newSubmissions }) => newSubmissions);
    const keys = taken().map(({ keyId }) => keyId);
    expect(keys.filter((key) => key === "flood")).toHaveLength(20);
    expect(keys.filter((key) => key === "single")).toHaveLength(1);
    expect(taken()).toHaveLength(16);
    expect(offers.isEmpty).toBe(false);
  });
});
