import { describe, expect, it } from "vitest";
import { createLoopPacer } from "./loopPacer.js";

/** A pacer whose clock and loop the test sets, and in which `flood` has used much of the loop. */
function pacerWithFlood() {
  const loop = { now: 0, use: 0.9 };
  const pacer = createLoopPacer({ now: () => loop.now, measureUse: () => loop.use });
  pacer.charge("flood", 100);
  return { loop, pacer };
}

describe("a party that uses much of the event loop", () => {
  it("has to wait while the loop is busy and a party that uses little is active", () => {
    const { loop, pacer } = pacerWithFlood();
    expect(pacer.mustWait("flood")).toBe(false);
    pacer.charge("light", 1);
    expect([pacer.mustWait("flood"), pacer.mustWait("light")]).toEqual([true, false]);
    loop.use = 0.1;
    loop.now += 10;
    expect(pacer.mustWait("flood")).toBe(false);
  });

  it("has a turn after a while even if the loop stays busy", () => {
    const { loop, pacer } = pacerWithFlood();
    pacer.charge("light", 1);
    loop.now += 20;
    expect(pacer.mustWait("flood")).toBe(false);
    pacer.charge("flood", 1);
    expect(pacer.mustWait("flood")).toBe(true);
  });

  it("does not wait for parties that are gone, or that use much as well", () => {
    const { loop, pacer } = pacerWithFlood();
    pacer.charge("other", 100);
    expect(pacer.mustWait("flood")).toBe(false);
    pacer.charge("light", 1);
    loop.now += 1_000;
    pacer.charge("flood", 200);
    expect(pacer.mustWait("flood")).toBe(false);
  });

  it("counts as one that uses little again when time has paid for what it used", () => {
    const { loop, pacer } = pacerWithFlood();
    loop.now += 760;
    pacer.charge("light", 1);
    pacer.charge("other flood", 100);
    expect([pacer.mustWait("flood"), pacer.mustWait("other flood")]).toEqual([false, true]);
  });

  it("counts as one that uses little again a second after a flood, however long that was", () => {
    const { loop, pacer } = pacerWithFlood();
    for (let second = 0; second < 60; second++) {
      loop.now += 1_000;
      pacer.charge("flood", 900);
    }
    pacer.charge("light", 1);
    expect(pacer.mustWait("flood")).toBe(true);
    loop.now += 1_000;
    pacer.charge("light", 1);
    pacer.charge("other flood", 100);
    expect([pacer.mustWait("flood"), pacer.mustWait("other flood")]).toEqual([false, true]);
  });
});
