import { describe, expect, it } from "vitest";
import { createLastingState } from "./lastingState.js";

/** Observes a state that is well or not, twice a second, and returns whether it counts as well at the end of each row. */
function statesAfter(...rows: readonly { readonly well: boolean; readonly forMs: number }[]): boolean[] {
  const state = createLastingState(5_000);
  let now = 0;
  return rows.map(({ well, forMs }) => {
    for (const end = now + forMs; now < end; now += 500) state.observe(well, now);
    return state.isWell;
  });
}

describe("a state that lasts", () => {
  it("is unwell until it was well once, and then well at once", () => {
    expect(statesAfter({ well: false, forMs: 500 }, { well: true, forMs: 500 })).toEqual([false, true]);
  });

  it("is unwell after five seconds on end, and well again at once", () => {
    const [atFirst, almost, then, after] = statesAfter(
      { well: true, forMs: 500 },
      { well: false, forMs: 5_000 },
      { well: false, forMs: 500 },
      { well: true, forMs: 500 },
    );
    expect([atFirst, almost, then, after]).toEqual([true, true, false, true]);
  });

  it("is well while each trouble is over within five seconds", () => {
    const rows = Array.from({ length: 10 }, () => [
      { well: false, forMs: 4_500 },
      { well: true, forMs: 500 },
    ]).flat();
    expect(new Set(statesAfter({ well: true, forMs: 500 }, ...rows))).toEqual(new Set([true]));
  });

  it("does not count a time in which this process itself stood still", () => {
    const state = createLastingState(5_000);
    state.observe(true, 0);
    state.observe(false, 500);
    state.observe(false, 60_000);
    expect(state.isWell).toBe(true);
    for (let now = 60_500; now <= 65_000; now += 500) state.observe(false, now);
    expect(state.isWell).toBe(false);
  });
});
