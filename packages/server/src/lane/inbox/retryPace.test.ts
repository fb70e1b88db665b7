import { describe, expect, it } from "vitest";
import { createRetryPace } from "./retryPace.js";

const ALL = Number.POSITIVE_INFINITY;
const IDS = Array.from({ length: 40 }, (_, i) => `${i}`);

/** A pace on a clock that only the test moves, after an exchange of 40 submissions of which some were taken. */
function paceAfter(ms: number, accepted: number) {
  const clock = { ms: 0 };
  const pace = createRetryPace(() => clock.ms);
  for (const id of IDS) pace.onSetAside(id);
  pace.onExchange({ ids: IDS, accepted: IDS.slice(0, accepted), ms });
  const mostAt = (at: number) => {
    clock.ms = at;
    return pace.mostNow;
  };
  return { pace, mostAt };
}

describe("submissions that were set aside", () => {
  it("use at most a fifth of a lane's time while no node takes them, and few places in a step", () => {
    expect([0, 199, 200].map(paceAfter(50, 0).mostAt)).toEqual([0, 0, 16]);
  });

  it("rest no longer than a second", () => {
    expect([999, 1_000].map(paceAfter(20_000, 0).mostAt)).toEqual([0, 16]);
  });

  it("rest the less the more of them were taken, and then find all places", () => {
    expect([0, 50].map(paceAfter(50, 30).mostAt)).toEqual([0, ALL]);
    expect(paceAfter(50, 40).mostAt(0)).toBe(ALL);
  });

  it("are like any others once a node has taken them", () => {
    const { pace } = paceAfter(50, 30);
    expect(["29", "30", "another"].map(pace.isRetry)).toEqual([false, true, false]);
  });

  it("find all places before the first exchange, and while half of them are taken", () => {
    expect(createRetryPace(() => 0).mostNow).toBe(ALL);
    expect(paceAfter(0, 20).mostAt(0)).toBe(ALL);
    expect(paceAfter(0, 19).mostAt(0)).toBe(16);
  });

  it("are remembered up to a number, the latest of them", () => {
    const pace = createRetryPace(() => 0);
    for (let i = 0; i < 10_000; i++) pace.onSetAside(`${i}`);
    pace.onSetAside("0");
    expect(["0", "1"].map(pace.isRetry)).toEqual([true, true]);
    pace.onSetAside("another");
    expect(["0", "1", "2", "another"].map(pace.isRetry)).toEqual([true, false, true, true]);
  });
});
