import { expect, it } from "vitest";
import { FairQueue } from "./fairQueue.js";

function queueOf(...items: readonly (readonly [party: string, part: string, item: number])[]) {
  const queue = new FairQueue<number>();
  for (const item of items) queue.add(...item);
  return queue;
}

function takeAll(
  queue: FairQueue<number>,
  mayTake?: (party: string, item: number, part: string) => boolean,
): number[] {
  const taken: number[] = [];
  for (let item = queue.take(mayTake); item !== undefined; item = queue.take(mayTake)) taken.push(item);
  return taken;
}

it("gives the parties turns, and the parts of each party turns within them", () => {
  const queue = queueOf(
    ["a", "x", 1],
    ["a", "x", 2],
    ["a", "y", 3],
    ["b", "x", 4],
    ["a", "y", 5],
    ["b", "x", 6],
  );
  expect(takeAll(queue)).toEqual([1, 4, 3, 6, 2, 5]);
  expect(queue.isEmpty).toBe(true);
});

it("passes over the parties of which nothing may be taken, and keeps their turns", () => {
  const queue = queueOf(["a", "x", 1], ["b", "x", 2], ["b", "x", 3]);
  expect(takeAll(queue, (party) => party === "b")).toEqual([2, 3]);
  expect(queue.isEmpty).toBe(false);
  expect(takeAll(queue)).toEqual([1]);
});

it("passes over the parts of a party of which nothing may be taken", () => {
  const queue = queueOf(["a", "x", 1], ["a", "y", 2], ["b", "x", 3], ["a", "y", 4]);
  expect(takeAll(queue, (_party, _item, part) => part === "y")).toEqual([2, 4]);
  expect(takeAll(queue)).toEqual([3, 1]);
});
