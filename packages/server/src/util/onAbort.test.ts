import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { onAbort } from "./onAbort.js";

it("calls every listener that has not left, and hangs one listener on the signal", () => {
  const { signal, abort } = controller();
  const called: number[] = [];
  const leave = Array.from({ length: 1_000 }, (_, i) => onAbort(signal, () => called.push(i)));
  for (const end of leave.slice(2)) end();
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  abort();
  expect(called).toEqual([0, 1]);
});

function controller() {
  const ending = new AbortController();
  return { signal: ending.signal, abort: () => ending.abort() };
}
