import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createWakeableTimer, sleepUnless } from "./wakeableTimer.js";

describe("a rest between two rounds", () => {
  it("ends at once after a wake, unless the round before has begun after it", async () => {
    const timer = createWakeableTimer();
    timer.wake();
    await timer.rest(3_600_000, true);
    timer.wake();
    timer.clear();
    let isOver = false;
    const rest = timer.rest(3_600_000, true).then(() => {
      isOver = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    timer.wake();
    await rest;
    // The end is for ever.
    timer.end();
    timer.clear();
    await timer.rest(3_600_000, true);
  });
});

describe("a sleep that a signal ends", () => {
  it("ends with the signal, and at once if that is aborted already", async () => {
    const controller = new AbortController();
    const sleeping = sleepUnless(3_600_000, controller.signal);
    controller.abort();
    await sleeping;
    await sleepUnless(3_600_000, controller.signal);
  });

  it("shares one listener with all others of the signal, so that Node does not warn of many", async () => {
    const controller = new AbortController();
    const sleeping = Array.from({ length: 50 }, () => sleepUnless(3_600_000, controller.signal));
    await sleepUnless(0, controller.signal);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    await Promise.all(sleeping);
  });
});
