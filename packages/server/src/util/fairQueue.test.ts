import { expect, it } from "vitest";
import { FairQueue } from "./fairQueue.js";

function queueOf(...items: readonly (readonly [...path: string[], item: number])[]) {
  const queue = new FairQueue<number>();
  for (const all of items) queue.add(all.slice(0, -1) as string[], all.at(-1) as number);
  return queue;
}

function takeAll(queue: FairQueue<number>, mayTake?: (item: number) => boolean): number[] {
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
  expect(takeAll(queue, (item) => item > 1)).toEqual([2, 3]);
  expect(queue.isEmpty).toBe(false);
  expect(takeAll(queue)).toEqual([1]);
});

it("passes over the parts of a party of which nothing may be taken", () => {
  const queue = queueOf(["a", "x", 1], ["a", "y", 2], ["b", "x", 3], ["a", "y", 4]);
  expect(takeAll(queue, (item) => [2, 4].includes(item))).toEqual([2, 4]);
  expect(takeAll(queue)).toEqual([3, 1]);
});

it("gives the parts of a party no more turns than a party without parts", () => {
  const queue = queueOf(
    ["key", "address 1", "small", 1],
    ["key", "address 2", "small", 2],
    ["key", "address 2", "large", 3],
    ["key", "address 3", "small", 4],
    ["secret", "", "small", 5],
    ["secret", "", "small", 6],
  );
  expect(takeAll(queue)).toEqual([1, 5, 2, 6, 4, 3]);
});

it("takes what is cheaper first of parties with the same past, and gives all of them the same", () => {
  const queue = new FairQueue<string>();
  for (const party of ["a", "b"]) for (let i = 0; i < 4; i++) queue.add(["key", party], party, 30);
  for (let i = 0; i < 12; i++) queue.add(["key", "small"], "small", 10);
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  expect(taken.slice(0, 2)).toEqual(["small", "small"]);
  const countOf = (party: string) => taken.slice(0, 10).filter((item) => item === party).length;
  expect([countOf("a"), countOf("b"), countOf("small")]).toEqual([2, 2, 6]);
});

it("takes first what comes of a party that had less than the others, as far as the credit goes", () => {
  const takenBefore = (credit: number) => {
    const queue = new FairQueue<string>(credit);
    for (let i = 0; i < 4; i++) for (const party of ["a", "b", "c"]) queue.add([party], party, 19);
    for (let i = 0; i < 6; i++) queue.take();
    for (let i = 0; i < 3; i++) queue.add(["late"], "late", 20);
    return Array.from({ length: 3 }, () => queue.take()).filter((item) => item === "late").length;
  };
  expect([takenBefore(0), takenBefore(20)]).toEqual([1, 2]);
});

it("puts a party where it belongs when what it has first is taken out, or something cheaper comes under it", () => {
  const queue = new FairQueue<string>();
  const leave = queue.add(["a", "x"], "a, large", 30);
  queue.add(["a", "x"], "a, small", 10);
  queue.add(["b"], "b", 20);
  leave();
  queue.add(["c", "x"], "c, large", 30);
  queue.add(["c", "y"], "c, small", 5);
  expect(queue.take()).toBe("c, small");
  expect(queue.take()).toBe("a, small");
  expect([queue.take(), queue.take()]).toEqual(["b", "c, large"]);
});

it("takes from one party alone where it is asked to", () => {
  const queue = queueOf(["a", "x", 1], ["b", "x", 2], ["b", "y", 3]);
  const takeWithin = (...path: string[]) => queue.take(() => true, path);
  expect([takeWithin("b", "y"), takeWithin("b"), takeWithin("b"), takeWithin("c", "x")]).toEqual([
    3,
    2,
    undefined,
    undefined,
  ]);
  expect(takeAll(queue)).toEqual([1]);
});
