import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Heartbeat } from "./heartbeat.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watched() {
  const heard: string[] = [];
  const heartbeat = new Heartbeat(
    () => heard.push("asked"),
    () => heard.push("lost"),
  );
  heartbeat.reset();
  return { heard, heartbeat };
}

describe("a silent connection", () => {
  it("is probed, and counts as lost if the probe is not answered", () => {
    const { heard } = watched();
    vi.advanceTimersByTime(39_999);
    expect(heard).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(heard).toEqual(["asked"]);
    vi.advanceTimersByTime(40_000);
    expect(heard).toEqual(["asked", "lost"]);
  });

  it("is kept by any frame, and not watched while no answer is due", () => {
    const { heard, heartbeat } = watched();
    vi.advanceTimersByTime(40_000);
    heartbeat.reset();
    vi.advanceTimersByTime(39_999);
    expect(heard).toEqual(["asked"]);
    heartbeat.stop();
    vi.advanceTimersByTime(1_000_000);
    expect(heard).toEqual(["asked"]);
  });
});
