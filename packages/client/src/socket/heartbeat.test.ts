import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createHeartbeat } from "./heartbeat.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function startHeartbeat() {
  const events: string[] = [];
  const heartbeat = createHeartbeat(
    () => events.push("probed"),
    () => events.push("lost"),
  );
  heartbeat.reset();
  return { events, heartbeat };
}

describe("a silent connection", () => {
  it("is probed, and counts as lost if the probe is not answered", () => {
    const { events } = startHeartbeat();
    vi.advanceTimersByTime(39_999);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(events).toEqual(["probed"]);
    vi.advanceTimersByTime(40_000);
    expect(events).toEqual(["probed", "lost"]);
  });

  it("is probed later if a frame came, and not probed while no answer is due", () => {
    const { events, heartbeat } = startHeartbeat();
    vi.advanceTimersByTime(40_000);
    heartbeat.reset();
    vi.advanceTimersByTime(39_999);
    expect(events).toEqual(["probed"]);
    heartbeat.stop();
    vi.advanceTimersByTime(1_000_000);
    expect(events).toEqual(["probed"]);
  });
});
