import { describe, expect, it } from "vitest";
import { codeOf, REASONS, type Reason } from "./index.js";
import { REASON_GROUPS, REASON_NOTES } from "./notes.js";

describe("the notes on the reasons", () => {
  it("have every reason in exactly one group", () => {
    const grouped = REASON_GROUPS.flatMap(({ reasons }) => reasons);
    expect([...grouped].sort()).toEqual(Object.keys(REASONS).sort());
  });

  it("have at least one place for every reason, and no line for a code that only requests have", () => {
    for (const [reason, { where }] of Object.entries(REASON_NOTES)) {
      expect(where.length, reason).toBeGreaterThan(0);
      const requestOnly = ["UNAUTHORIZED", "UNAVAILABLE", "NOT_FOUND"].includes(codeOf(reason as Reason));
      const lines = where.filter((place) => ["submit", "check", "watch", "record"].includes(place));
      expect(requestOnly ? lines : [], reason).toEqual([]);
    }
  });

  it("have texts that fit into the cell of a table", () => {
    for (const { cause, remedy } of Object.values(REASON_NOTES)) {
      for (const text of [cause, remedy]) expect(text).toMatch(/^[^|\n]+\.$/);
    }
  });
});
