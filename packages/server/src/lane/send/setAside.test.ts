import { describe, expect, it } from "vitest";
import { createSetAside } from "./setAside.js";

/** A memory of submissions that were set aside, on a clock that only the test moves. */
function onClock() {
  const clock = { ms: 0 };
  return { setAside: createSetAside(() => clock.ms), advance: (ms: number) => (clock.ms += ms) };
}

describe("a submission that was set aside", () => {
  it("comes again at once when a node takes a wrapper after a spell without a clear answer", () => {
    const { setAside } = onClock();
    setAside.note(["a", "b"], ["disputed", "ambiguous"]);
    setAside.note(["c"], ["ambiguous"]);
    expect(setAside.onAccepted()).toEqual(["a", "b", "c"]);
    expect(setAside.onAccepted()).toEqual([]);
  });

  it("keeps its pause where the node gave another wrapper of the same exchange a clear answer", () => {
    const { setAside } = onClock();
    setAside.note(["poison"], ["ambiguous", "accepted"]);
    setAside.note(["poison"], ["disputed", "nonce gap"]);
    expect(setAside.onAccepted()).toEqual([]);
  });

  it("that is never taken comes again out of turn ever more rarely, down to once in half a minute", () => {
    const { setAside, advance } = onClock();
    const early = [0, 0, 0];
    for (let second = 0; second < 180; second++) {
      setAside.note(["poison"], ["ambiguous"]);
      early[Math.floor(second / 60)] = (early[Math.floor(second / 60)] ?? 0) + setAside.onAccepted().length;
      advance(1_000);
    }
    expect(early).toEqual([5, 2, 2]);
  });

  it("and came again once during a trouble, comes again soon after it all the same", () => {
    const { setAside, advance } = onClock();
    setAside.note(["a"], ["ambiguous"]);
    expect(setAside.onAccepted()).toEqual(["a"]);
    advance(700);
    setAside.note(["a"], ["ambiguous"]);
    expect(setAside.onAccepted(), "it is remembered until its time").toEqual([]);
    advance(1_300);
    expect(setAside.onAccepted()).toEqual(["a"]);
  });
});
