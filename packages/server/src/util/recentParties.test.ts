import { expect, it } from "vitest";
import { RecentParties } from "./recentParties.js";

it("is shared for a second after two parties have used it within one", () => {
  let now = 0;
  const parties = new RecentParties(() => now);
  const noteAt = (at: number, party: string) => {
    now = at;
    parties.note(party);
    return parties.size > 1;
  };
  expect([noteAt(0, "a"), noteAt(10, "a"), noteAt(20, "b"), noteAt(900, "b")]).toEqual([
    false,
    false,
    true,
    true,
  ]);
  expect([noteAt(1_020, "b"), noteAt(2_100, "a"), noteAt(2_200, "b")]).toEqual([false, false, true]);
});
