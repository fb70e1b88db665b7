import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FREE_REFUSALS, PartyTurns, REFUSALS_PER_SECOND } from "./partyTurns.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setImmediate", "setTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Enters a number of requests of one party. Each adds the party's name to `begun` when it begins. */
function enterMany(turns: PartyTurns, begun: string[], party: string, count: number): void {
  for (let i = 0; i < count; i++) turns.enter(party, () => begun.push(party));
}

it("begins requests at once while few come", () => {
  const begun: string[] = [];
  enterMany(new PartyTurns(), begun, "a", 3);
  expect(begun).toEqual(["a", "a", "a"]);
});

it("a request begins in the next turn of the event loop, however many another party has waiting", async () => {
  const turns = new PartyTurns();
  const begun: string[] = [];
  enterMany(turns, begun, "flood", 10_000);
  turns.enter("other", () => begun.push("other"));
  const before = begun.length;
  expect(before).toBeLessThan(100);
  vi.advanceTimersToNextTimer();
  expect(begun.slice(before, before + 2)).toContain("other");
  expect(begun.length).toBeLessThan(100);
  vi.runAllTimers();
  expect(begun).toHaveLength(10_001);
  expect(turns.waiting).toBe(0);
});

it("a party that is refused too often waits until its debt has shrunk, and nobody else does", () => {
  const turns = new PartyTurns();
  for (let i = 0; i < FREE_REFUSALS + REFUSALS_PER_SECOND; i++) turns.charge("flood");
  const begun: string[] = [];
  enterMany(turns, begun, "flood", 5);
  enterMany(turns, begun, "other", 5);
  vi.advanceTimersByTime(500);
  expect(begun).toEqual(Array(5).fill("other"));
  vi.advanceTimersByTime(600);
  expect(begun).toHaveLength(10);
});

it("a request that is taken out of the line never begins", () => {
  const turns = new PartyTurns();
  const begun: string[] = [];
  enterMany(turns, begun, "a", 100);
  const leave = turns.enter("b", () => begun.push("b"));
  leave();
  vi.runAllTimers();
  expect(begun).toEqual(Array(100).fill("a"));
});

it("a party in debt begins when it has waited, also if very many other parties come meanwhile", () => {
  const turns = new PartyTurns();
  for (let i = 0; i < FREE_REFUSALS; i++) turns.charge("first");
  const begun: string[] = [];
  turns.enter("first", () => begun.push("first"));
  expect(begun).toEqual([]);
  for (let i = 0; i < 50_000; i++) turns.charge(`address ${i}`);
  vi.advanceTimersByTime(100);
  expect(begun).toEqual(["first"]);
});
