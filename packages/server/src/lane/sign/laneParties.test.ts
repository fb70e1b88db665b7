import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { createLaneParties } from "./plan.js";

/** The parties of a lane on a clock that only the test moves. */
function partiesAt() {
  const clock = { ms: 5_000 };
  const parties = createLaneParties(() => clock.ms);
  return {
    pass: (ms: number) => (clock.ms += ms),
    note: (keyIds: readonly string[], users: readonly number[]) =>
      parties.note(keyIds.flatMap((keyId) => users.map((user) => ({ keyId, sender: bytes(20, user) })))),
    shares: (limit: number) => [parties.shareOfKey(limit), parties.shareOfSender(limit)],
  };
}

describe("the parties of a lane", () => {
  it("have a whole step while one key and one sender use the lane", () => {
    const { note, shares } = partiesAt();
    note(["a"], [1]);
    note(["a"], [1]);
    expect(shares(198)).toEqual([198, 198]);
  });

  it("share a step by key while several keys use the lane, and by sender while several senders do", () => {
    const keys = partiesAt();
    keys.note(["a", "b"], [1]);
    expect(keys.shares(198)).toEqual([16, 198]);
    const senders = partiesAt();
    senders.note(["a"], [1]);
    senders.note(["a"], [2]);
    expect(senders.shares(198)).toEqual([198, 16]);
  });

  it("have no share above the limit of the step, and a whole step again a second after the others", () => {
    const { note, shares, pass } = partiesAt();
    note(["a", "b"], [1, 2]);
    expect(shares(10)).toEqual([10, 10]);
    pass(999);
    expect(shares(198)).toEqual([16, 16]);
    pass(1);
    expect(shares(198)).toEqual([198, 198]);
  });
});
