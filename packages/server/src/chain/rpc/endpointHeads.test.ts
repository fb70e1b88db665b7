// Which nodes may be asked, by their heads.
import { describe, expect, it } from "vitest";
import { EndpointHeads, MAX_LAG_SECONDS } from "./endpointHeads.js";

/** The times in blocks do not matter. */
const at = (height: number) => ({ number: BigInt(height), timestamp: 1_000_000 - height });
const usable = (heads: EndpointHeads) => [0, 1].map((place) => heads.isUsable(place));
const states = (heads: EndpointHeads) => [0, 1].map((place) => heads.stateOf(place));

/** Observes both nodes once a second, each with its head by the second; undefined gives no answer. */
function run(
  heads: EndpointHeads,
  seconds: readonly number[],
  ...headOf: ((second: number) => number | undefined)[]
) {
  for (const second of seconds) {
    headOf.forEach((head, place) => {
      const height = head(second);
      if (height === undefined) heads.miss(place);
      else heads.observe(place, at(height), second * 1_000);
    });
  }
}
const seconds = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const live = (second: number) => second;
const noAnswer = () => undefined;

describe("of two nodes", () => {
  it("both may be asked before any was polled", () => {
    expect(usable(new EndpointHeads(2))).toEqual([true, true]);
  });

  it("a spare that is hours behind does not take the place of one that goes away, for half a minute", () => {
    const heads = new EndpointHeads(2);
    const behind = () => 100;
    run(heads, seconds(10_000, 10_001), live, behind);
    expect([states(heads), usable(heads)]).toEqual([
      ["well", "unknown"],
      [true, false],
    ]);
    run(heads, seconds(10_001, 10_010), live, behind);
    expect([states(heads), usable(heads)]).toEqual([
      ["well", "behind"],
      [true, false],
    ]);
    expect(heads.lagOf(1)).toBe(9);
    run(heads, seconds(10_010, 10_040), noAnswer, behind);
    expect([states(heads), usable(heads)]).toEqual([
      ["unknown", "behind"],
      [true, false],
    ]);
    run(heads, seconds(10_040, 10_045), noAnswer, behind);
    expect([states(heads), usable(heads)]).toEqual([
      ["unknown", "well"],
      [false, true],
    ]);
  });

  it("one that shows a head far ahead once and is gone keeps the other back for half a minute, whatever its block's time", () => {
    const heads = new EndpointHeads(2);
    heads.observe(0, { number: 4_000n, timestamp: 1_000_000 }, 100_000);
    run(heads, seconds(101, 131), noAnswer, live);
    expect(usable(heads)).toEqual([true, false]);
    run(heads, seconds(131, 135), noAnswer, live);
    expect(usable(heads)).toEqual([false, true]);
  });

  it("both are asked where one shows blocks with a time an hour ahead", () => {
    const heads = new EndpointHeads(2);
    for (const second of seconds(0, 60)) {
      heads.observe(0, { number: BigInt(second), timestamp: second + 3_600 }, second * 1_000);
      heads.observe(1, { number: BigInt(second), timestamp: second }, second * 1_000);
    }
    expect(usable(heads)).toEqual([true, true]);
  });

  it("one that follows with a lag of less than ten seconds is asked, and one with more is not", () => {
    for (const [lag, isAsked] of [
      [8, true],
      [15, false],
    ] as const) {
      const heads = new EndpointHeads(2);
      run(heads, seconds(100, 200), live, (second) => second - lag);
      expect(usable(heads)).toEqual([true, isAsked]);
      expect(heads.lagOf(1)).toBe(lag - 1);
    }
  });

  it("one that gives no answer, or is on another chain, has no lag", () => {
    const heads = new EndpointHeads(3);
    const lags = () => [0, 1, 2].map((place) => heads.lagOf(place));
    run(heads, seconds(0, 60), live, live, live);
    run(heads, seconds(60, 100), live, noAnswer, () => 59);
    expect(lags()).toEqual([0, undefined, 39]);
    heads.refuse(2);
    expect(lags()).toEqual([0, undefined, undefined]);
    run(heads, seconds(100, 101), live, live, live);
    expect(lags()).toEqual([0, 0, 0]);
  });

  it("one that stalls is not asked until it has caught up", () => {
    const heads = new EndpointHeads(2);
    run(heads, seconds(0, 100), live, live);
    expect(usable(heads)).toEqual([true, true]);
    run(heads, seconds(100, 100 + MAX_LAG_SECONDS), () => 99, live);
    expect(usable(heads)).toEqual([true, true]);
    run(heads, seconds(100 + MAX_LAG_SECONDS, 115), () => 99, live);
    expect(usable(heads)).toEqual([false, true]);
    run(heads, seconds(115, 116), () => 103, live);
    expect(usable(heads)).toEqual([false, true]);
    run(heads, seconds(116, 117), () => 110, live);
    expect(usable(heads)).toEqual([true, true]);
  });

  it("one that gives no answer is not asked while the other does, and comes back with its first fresh head", () => {
    const heads = new EndpointHeads(2);
    run(heads, seconds(0, 5), live, live);
    run(heads, seconds(5, 60), noAnswer, live);
    expect(usable(heads)).toEqual([false, true]);
    run(heads, seconds(60, 61), () => 5, live);
    expect(usable(heads)).toEqual([false, true]);
    run(heads, seconds(61, 62), live, live);
    expect(usable(heads)).toEqual([true, true]);
  });

  it("both are asked while the chain stands still, and when a block comes after a long pause", () => {
    const heads = new EndpointHeads(2);
    run(heads, seconds(0, 10), live, live);
    run(
      heads,
      seconds(10, 5_000),
      () => 9,
      () => 9,
    );
    expect(usable(heads)).toEqual([true, true]);
    // The second was polled just before the new block.
    heads.observe(0, at(5_000), 5_000_000);
    expect(usable(heads)).toEqual([true, true]);
    heads.observe(1, at(5_000), 5_001_000);
    expect(states(heads)).toEqual(["well", "well"]);
  });

  it("both are asked while neither answers: each may have come back", () => {
    const heads = new EndpointHeads(2);
    run(heads, seconds(0, 5), live, live);
    run(heads, seconds(5, 8), noAnswer, noAnswer);
    expect(usable(heads)).toEqual([true, true]);
  });

  it("both are asked where both have gone back: nobody shows the later blocks", () => {
    const heads = new EndpointHeads(2);
    run(heads, seconds(10_000, 10_010), live, live);
    const restored = () => 2_000;
    run(heads, seconds(10_010, 10_012), restored, restored);
    expect(usable(heads)).toEqual([true, true]);
  });

  it("one that has gone back is asked half a minute after the other was last seen with the blocks", () => {
    const heads = new EndpointHeads(2);
    run(heads, seconds(10_000, 10_010), live, live);
    const restored = () => 2_000;
    run(heads, seconds(10_010, 10_035), noAnswer, restored);
    // The absent one may have come back: it is tried, and the other is not.
    expect(usable(heads)).toEqual([true, false]);
    run(heads, seconds(10_035, 10_050), noAnswer, restored);
    expect(usable(heads)).toEqual([false, true]);
    // The absent one comes back with the same blocks.
    run(heads, seconds(10_050, 10_051), restored, restored);
    expect(states(heads)).toEqual(["well", "well"]);
  });

  it("one that has gone back is not asked while the other has the blocks, also after pauses", () => {
    const heads = new EndpointHeads(2);
    const restored = () => 2_000;
    run(heads, seconds(10_000, 10_010), live, live);
    for (const start of [10_010, 10_100]) {
      run(heads, seconds(start, start + 60), live, restored);
      expect(usable(heads)).toEqual([true, false]);
      run(heads, seconds(start + 60, start + 85), noAnswer, restored);
      expect(states(heads)).toEqual(["unknown", "behind"]);
    }
  });

  it("one that lags does not take the place of one that has gone to another chain, for half a minute", () => {
    const heads = new EndpointHeads(2);
    const behind = () => 100;
    run(heads, seconds(10_000, 10_010), live, behind);
    heads.refuse(0);
    const observe = (second: number) => heads.observe(1, at(behind()), second * 1_000);
    seconds(10_010, 10_039).forEach(observe);
    expect(usable(heads)).toEqual([false, false]);
    seconds(10_039, 10_045).forEach(observe);
    expect(usable(heads)).toEqual([false, true]);
  });

  it("one counts as answering only with a head of now, and only while it may be asked", () => {
    const heads = new EndpointHeads(2);
    expect(heads.hasFresh(0)).toBe(false);
    run(heads, seconds(10_000, 10_005), live, () => 100);
    expect([heads.hasFresh(10_002_000), heads.hasFresh(10_005_000)]).toEqual([true, false]);
    run(heads, seconds(10_005, 10_006), noAnswer, () => 100);
    expect(heads.hasFresh(10_002_000)).toBe(false);
  });

  it("one on another chain is not asked", () => {
    const heads = new EndpointHeads(2);
    run(heads, seconds(0, 5), live, live);
    heads.refuse(1);
    expect([states(heads)[1], usable(heads)]).toEqual(["other chain", [true, false]]);
  });
});

describe("of two nodes with different blocks at one height", () => {
  /** Observes both nodes once a second, of which each has a chain of its own, and compares them. */
  function runApart(heads: EndpointHeads, all: readonly number[], ...headOf: ((second: number) => number)[]) {
    const hashOf = (place: number, height: number) =>
      new Uint8Array(32).fill(1 + place).fill(height % 256, 31);
    for (const second of all)
      headOf.forEach((head, place) => {
        const height = head(second);
        heads.observe(place, { ...at(height), hash: hashOf(place, height) }, second * 1_000);
        for (const { place: other, number } of heads.doubted(place))
          heads.compare(place, other, number, hashOf(place, Number(number)));
      });
  }

  it.each([20, 1_000])("both are asked, in their order, where one is %d blocks above the other", (lead) => {
    const heads = new EndpointHeads(2);
    runApart(heads, seconds(100, 103), live, (second) => second + lead);
    runApart(heads, seconds(103, 200), live, (second) => second + lead);
    expect(usable(heads)).toEqual([true, true]);
    expect(heads.lagOf(0)).toBeLessThan(3);
  });

  it("the one that stands still is not asked, whatever its height", () => {
    for (const height of [50, 1_000]) {
      const heads = new EndpointHeads(2);
      runApart(heads, seconds(100, 130), live, () => height);
      expect(usable(heads)).toEqual([true, false]);
    }
  });

  it("the lower one is behind again where it comes to the blocks of the other, or has always had them", () => {
    const heads = new EndpointHeads(2);
    const head = { ...at(100), hash: new Uint8Array(32).fill(7) };
    runApart(heads, seconds(100, 103), live, (second) => second + 1_000);
    for (const second of seconds(103, 110)) {
      heads.observe(0, head, second * 1_000);
      heads.observe(1, at(second + 1_000), second * 1_000);
      expect(heads.doubted(1)).toEqual([{ place: 0, number: 100n }]);
      expect(heads.compare(1, 0, 100n, head.hash)).toBe(false);
    }
    expect(usable(heads)).toEqual([false, true]);
  });

  it.each([-20, 1_000])(
    "the one that is apart from two others is not asked, %d blocks above them",
    (lead) => {
      const heads = new EndpointHeads(3);
      const hashOf = (place: number, height: number) =>
        new Uint8Array(32).fill(place === 0 ? 1 : 2).fill(height % 256, 31);
      for (const second of seconds(100, 200))
        [second + lead, second, second].forEach((height, place) => {
          heads.observe(place, { ...at(height), hash: hashOf(place, height) }, second * 1_000);
          for (const { place: other, number } of heads.doubted(place))
            heads.compare(place, other, number, hashOf(place, Number(number)));
        });
      expect([0, 1, 2].map((place) => heads.isUsable(place))).toEqual([false, true, true]);
    },
  );

  it("two that stand still outvote none that goes on", () => {
    const heads = new EndpointHeads(3);
    const hashOf = (place: number, height: number) =>
      new Uint8Array(32).fill(place === 0 ? 1 : 2).fill(height % 256, 31);
    for (const second of seconds(100, 200))
      [second, 1_000, 1_000].forEach((height, place) => {
        heads.observe(place, { ...at(height), hash: hashOf(place, height) }, second * 1_000);
        for (const { place: other, number } of heads.doubted(place))
          heads.compare(place, other, number, hashOf(place, Number(number)));
      });
    expect([0, 1, 2].map((place) => heads.isUsable(place))).toEqual([true, false, false]);
  });

  it("they are compared again whichever is the higher one by then", () => {
    const heads = new EndpointHeads(2);
    const hashOf = (height: number) => new Uint8Array(32).fill(height % 256);
    const run = (
      all: readonly number[],
      first: (second: number) => number,
      second: (second: number) => number,
    ) => {
      for (const at of all)
        for (const [place, height] of [first(at), second(at)].entries()) {
          heads.observe(
            place,
            { number: BigInt(height), timestamp: height, hash: hashOf(height) },
            at * 1_000,
          );
          for (const { place: other, number } of heads.doubted(place))
            heads.compare(place, other, number, hashOf(Number(number)));
        }
    };
    runApart(heads, seconds(100, 103), live, (second) => second + 1_000);
    const isAbove = (second: number) => second + 1_001;
    run(seconds(103, 110), isAbove, (second) => second + 1_000);
    run(seconds(110, 120), isAbove, live);
    expect(usable(heads), "the second one has gone back on the chain of both").toEqual([true, false]);
  });
});

describe("a node alone", () => {
  it("is asked whatever its head is, but not on another chain", () => {
    const heads = new EndpointHeads(1);
    heads.observe(0, at(10_000), 0);
    for (let i = 1; i < 100; i++) heads.observe(0, at(10), i * 1_000);
    expect(heads.isUsable(0)).toBe(true);
    heads.refuse(0);
    expect(heads.isUsable(0)).toBe(false);
  });
});
