import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPacer, type Pacer } from "./pacer.js";

const { signal } = new AbortController();
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Takes in the background. @returns the positions that have taken, in the order in which they did. */
function startTaking(pacer: Pacer) {
  const taken: number[] = [];
  const take = (count: number, position: number) =>
    void pacer.take(count, position, signal).then(() => taken.push(position));
  return { taken, take };
}

describe("a pacer", () => {
  it("paces by the rate behind the burst", async () => {
    const { taken, take } = startTaking(createPacer(1_000, 100));
    take(100, 0);
    take(20, 1);
    await vi.advanceTimersByTimeAsync(19);
    expect(taken).toEqual([0]);
    await vi.advanceTimersByTimeAsync(1);
    expect(taken).toEqual([0, 1]);
    await vi.advanceTimersByTimeAsync(1_000);
    // As much as the burst is there again, and no more.
    take(100, 2);
    take(1, 3);
    await vi.advanceTimersByTimeAsync(0);
    expect(taken).toEqual([0, 1, 2]);
    await vi.advanceTimersByTimeAsync(1);
    expect(taken).toEqual([0, 1, 2, 3]);
  });

  it("lets a refused batch take when the pause of the service has passed, and before every later one", async () => {
    const pacer = createPacer(1_000, 200);
    const { taken, take } = startTaking(pacer);
    take(100, 0);
    take(100, 1);
    take(100, 2);
    await vi.advanceTimersByTimeAsync(50);
    expect(taken).toEqual([0, 1]);
    for (const position of [1, 0]) {
      pacer.slowDown(100, 2_000);
      take(100, position);
    }
    await vi.advanceTimersByTimeAsync(1_999);
    expect(taken).toEqual([0, 1]);
    // The random time is at most that of one batch.
    await vi.advanceTimersByTimeAsync(101);
    expect(taken).toEqual([0, 1, 0]);
    await vi.advanceTimersByTimeAsync(200);
    expect(taken).toEqual([0, 1, 0, 1, 2]);
  });

  it("ends the waiting with its signal, and gives the tokens to the others", async () => {
    const pacer = createPacer(1_000, 100);
    const { taken, take } = startTaking(pacer);
    take(100, 0);
    const ending = new AbortController();
    const waiting = pacer.take(1_000_000, 1, ending.signal);
    const ended = expect(waiting).rejects.toThrow("ended");
    ending.abort(new Error("ended"));
    await ended;
    take(10, 2);
    await vi.advanceTimersByTimeAsync(10);
    expect(taken).toEqual([0, 2]);
  });
});
