import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aborted, listenForSignals } from "./interruption.js";

let source: EventEmitter;
let statuses: number[];

beforeEach(() => {
  vi.useFakeTimers();
  source = new EventEmitter();
  statuses = [];
});
afterEach(() => vi.useRealTimers());

const listen = () => listenForSignals(source, (status) => statuses.push(status));

describe("listenForSignals", () => {
  it.each(["SIGINT", "SIGTERM"])("aborts its signal at %s", async (name) => {
    const signal = listen();
    expect(signal.aborted).toBe(false);
    source.emit(name);
    expect(signal.aborted).toBe(true);
    await aborted(signal);
    expect(statuses).toEqual([]);
  });

  it("counts a signal that npm passes on as the same one", () => {
    listen();
    source.emit("SIGINT");
    vi.advanceTimersByTime(50);
    source.emit("SIGINT");
    expect(statuses).toEqual([]);
  });

  it("exits at once at a second signal", () => {
    listen();
    source.emit("SIGINT");
    vi.advanceTimersByTime(1_000);
    source.emit("SIGTERM");
    expect(statuses).toEqual([0]);
  });

  it("exits after 4 s if the shutdown takes longer", () => {
    listen();
    source.emit("SIGTERM");
    vi.advanceTimersByTime(4_000);
    expect(statuses).toEqual([0]);
  });
});
