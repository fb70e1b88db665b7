import { describe, expect, it } from "vitest";
import { createRetries, setAsidePauseMs } from "./retries.js";

const ALL = Number.POSITIVE_INFINITY;
const IDS = Array.from({ length: 40 }, (_, i) => `${i}`);

/** A memory of submissions that were set aside, on a clock that only the test moves. */
function onClock() {
  const clock = { ms: 0 };
  const retries = createRetries(() => clock.ms);
  return { retries, clock, advance: (ms: number) => (clock.ms += ms) };
}

describe("a submission that was set aside", () => {
  it("comes again at once when a node takes a wrapper after a spell without a clear answer", () => {
    const { retries } = onClock();
    retries.onSetAside(["a", "b"], false);
    retries.onSetAside(["c"], false);
    expect(retries.onTaken(["d"])).toEqual(["a", "b", "c"]);
    expect(retries.onTaken(["d"])).toEqual([]);
  });

  it("keeps its pause where the node gave another wrapper of the same exchange a clear answer", () => {
    const { retries } = onClock();
    retries.onSetAside(["poison"], true);
    expect(retries.onTaken(["another"])).toEqual([]);
  });

  it("and came again once during a trouble, comes again soon after it all the same", () => {
    const { retries, advance } = onClock();
    retries.onSetAside(["a"], false);
    expect(retries.onTaken(["another"])).toEqual(["a"]);
    advance(700);
    retries.onSetAside(["a"], false);
    expect(retries.onTaken(["another"]), "it is remembered until its time").toEqual([]);
    advance(1_300);
    expect(retries.onTaken(["another"])).toEqual(["a"]);
  });
});

describe("a submission that no node ever takes", () => {
  it("is woken for nothing after 2 s, then after twice as long, and not unless it was set aside again", () => {
    const { retries, clock } = onClock();
    retries.onSetAside(["a"], false);
    expect(retries.onTaken(["another"])).toEqual(["a"]);
    for (const restMs of [2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      retries.onSetAside(["a"], false);
      clock.ms += restMs - 1;
      expect(retries.onTaken(["another"])).toEqual([]);
      clock.ms += 1;
      expect(retries.onTaken(["another"])).toEqual(["a"]);
    }
    clock.ms += 60_000;
    expect(retries.onTaken(["another"])).toEqual([]);
  });

  it("has a pause of a quarter of a second, which doubles with each wrapper, up to ten seconds", () => {
    expect([1, 2, 3, 6, 7, 1_000].map(setAsidePauseMs)).toEqual([250, 500, 1_000, 8_000, 10_000, 10_000]);
  });
});

/** The most retries at a time, after an exchange of 40 of which some were taken. */
async function mostAfter(ms: number, taken: number, ...rests: readonly number[]) {
  const { retries, clock } = onClock();
  await retries.inExchange(IDS.length, async () => {
    clock.ms = ms;
    return taken;
  });
  return rests.map((restMs) => {
    clock.ms = ms + restMs;
    return retries.mostNow;
  });
}

describe("submissions that were set aside", () => {
  it("use at most a fifth of a lane's time while no node takes them, and few places in a step", async () => {
    expect(await mostAfter(50, 0, 0, 199, 200)).toEqual([0, 0, 16]);
  });

  it("rest no longer than a second", async () => {
    expect(await mostAfter(20_000, 0, 999, 1_000)).toEqual([0, 16]);
  });

  it("rest the less the more of them were taken, and then find all places", async () => {
    expect(await mostAfter(50, 30, 0, 50)).toEqual([0, ALL]);
    expect(await mostAfter(50, 40, 0)).toEqual([ALL]);
  });

  it("are like any others once a node has taken them", () => {
    const { retries } = onClock();
    retries.onSetAside(IDS, true);
    retries.onTaken(IDS.slice(0, 30));
    expect(["29", "30", "another"].map(retries.isRetry)).toEqual([false, true, false]);
  });

  it("find all places before the first exchange, and while half of them are taken", async () => {
    expect(createRetries(() => 0).mostNow).toBe(ALL);
    expect(await mostAfter(0, 20, 0)).toEqual([ALL]);
    expect(await mostAfter(0, 19, 0)).toEqual([16]);
  });

  it("are remembered up to a number, the latest of them", () => {
    const { retries } = onClock();
    const ids = Array.from({ length: 10_000 }, (_, i) => `${i}`);
    retries.onSetAside([...ids, "0"], true);
    expect(["0", "1"].map(retries.isRetry)).toEqual([true, true]);
    retries.onSetAside(["another"], true);
    expect(["0", "1", "2", "another"].map(retries.isRetry)).toEqual([true, false, true, true]);
  });
});
