import { expect, it } from "vitest";
import { ToldAnswers } from "./toldAnswers.js";

it("tells a submission in one exchange, and in no later one", () => {
  const told = new ToldAnswers();
  const first = told.begin();
  expect([first.tell("a"), first.tell("a"), first.tell("b")]).toEqual([true, false, true]);
  expect(told.begin().tell("a")).toBe(false);
});

it("tells again what an exchange lost, or had lost before it told", () => {
  const told = new ToldAnswers();
  const lost = told.begin();
  lost.tell("a");
  lost.lost();
  expect(lost.tell("b")).toBe(true);
  const next = told.begin();
  expect([next.tell("a"), next.tell("b")]).toEqual([true, true]);
  expect(told.begin().tell("b")).toBe(false);
});

it("tells again at once what it told a client that may have left", () => {
  const told = new ToldAnswers();
  expect(told.begin(() => true).tell("a")).toBe(true);
  expect(told.begin().tell("a")).toBe(true);
  expect(told.begin(() => true).tell("a")).toBe(false);
});
