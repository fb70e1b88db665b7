import { describe, expect, it } from "vitest";
import { createSetAsideProbe } from "./setAside.js";

/** A probe on a clock that only the test moves. */
function probeAt() {
  const clock = { ms: 0 };
  return { probe: createSetAsideProbe(() => clock.ms), advance: (ms: number) => (clock.ms += ms) };
}

describe("a submission that was set aside", () => {
  it("comes again at once when a node takes a wrapper after a spell without a clear answer", () => {
    const { probe } = probeAt();
    probe.suspectNode(["a", "b"], ["disputed", "ambiguous"]);
    probe.suspectNode(["c"], ["ambiguous"]);
    expect(probe.onAccepted()).toEqual(["a", "b", "c"]);
    expect(probe.onAccepted()).toEqual([]);
  });

  it("keeps its pause where the node gave another wrapper of the same exchange a clear answer", () => {
    const { probe } = probeAt();
    probe.suspectNode(["poison"], ["ambiguous", "accepted"]);
    probe.suspectNode(["poison"], ["disputed", "nonce gap"]);
    expect(probe.onAccepted()).toEqual([]);
  });

  it("that is never taken comes again out of turn ever more rarely, down to once in half a minute", () => {
    const { probe, advance } = probeAt();
    const early = [0, 0, 0];
    for (let second = 0; second < 180; second++) {
      probe.suspectNode(["poison"], ["ambiguous"]);
      early[Math.floor(second / 60)] = (early[Math.floor(second / 60)] ?? 0) + probe.onAccepted().length;
      advance(1_000);
    }
    expect(early).toEqual([5, 2, 2]);
  });

  it("and came again once during a trouble, comes again soon after it all the same", () => {
    const { probe, advance } = probeAt();
    probe.suspectNode(["a"], ["ambiguous"]);
    expect(probe.onAccepted()).toEqual(["a"]);
    advance(700);
    probe.suspectNode(["a"], ["ambiguous"]);
    expect(probe.onAccepted(), "it is remembered until its time").toEqual([]);
    advance(1_300);
    expect(probe.onAccepted()).toEqual(["a"]);
  });
});

describe("an exchange with unknown errors alone", () => {
  const ONE = { id: "poison", signings: 1 };
  const OTHER = { id: "another", signings: 1 };

  it("concerns its wrappers where the node gave a clear answer within the second before, however long it took", () => {
    const { probe, advance } = probeAt();
    probe.onAccepted();
    advance(999);
    probe.onSend();
    advance(5_000);
    expect(probe.isNodeWell(ONE, ["disputed", "disputed"])).toBe(true);
    probe.onSetAside(ONE.id);
    expect(probe.isNodeWell(OTHER, ["disputed", "disputed"])).toBe(true);
  });

  it("concerns the node where its last clear answer is older, or where something got no answer at all", () => {
    const { probe, advance } = probeAt();
    probe.onAccepted();
    probe.onSetAside(ONE.id);
    expect(probe.isNodeWell(OTHER, ["disputed", "ambiguous"])).toBe(false);
    advance(1_000);
    probe.onSend();
    probe.onSetAside(ONE.id);
    expect(probe.isNodeWell(OTHER, ["disputed", "disputed"])).toBe(false);
  });
});
