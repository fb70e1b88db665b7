import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { onAbort } from "./onAbort.js";

it("calls every listener that was not removed, and adds a single listener to the signal", () => {
  const { signal, abort } = controller();
  const called: number[] = [];
  const removals = Array.from({ length: 1_000 }, (_, i) => onAbort(signal, () => called.push(i)));
  for (const remove of removals.slice(2)) remove();
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  abort();
  expect(called).toEqual([0, 1]);
});

function controller() {
  const ending = new AbortController();
  return { signal: ending.signal, abort: () => ending.abort() };
}
