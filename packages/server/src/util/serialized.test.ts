import { expect, it } from "vitest";
import { serialized } from "./serialized.js";

it("runs the function once at a time, also when a caller calls again as soon as its run has ended", async () => {
  let running = 0;
  let highest = 0;
  let runs = 0;
  const call = serialized(async () => {
    runs++;
    highest = Math.max(highest, ++running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running--;
  });
  const again = call().then(call);
  await Promise.all([call(), call(), again]);
  expect({ highest, runs }).toEqual({ highest: 1, runs: 2 });
});

it("starts a run after each call, even if the run before fails", async () => {
  let runs = 0;
  const call = serialized(async () => {
    runs++;
    if (runs === 1) throw new Error("broken");
  });
  const first = call();
  const second = call();
  await expect(first).rejects.toThrow("broken");
  await second;
  expect(runs).toBe(2);
});
