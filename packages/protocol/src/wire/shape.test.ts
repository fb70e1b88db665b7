import { describe, expect, it } from "vitest";
import { fits } from "./shape.js";

describe("a member that may be absent", () => {
  it.each([
    ["text?", "a", 1],
    ["boolean?", false, "false"],
    ["number?", 1.5, "1.5"],
    ["count?", 0, -1],
    ["chainId?", 1, 0],
  ] as const)("of the kind %s fits if it is absent or of its kind, and not otherwise", (kind, good, bad) => {
    expect(fits({ kind }, {})).toBe(true);
    expect(fits({ kind }, { kind: good })).toBe(true);
    expect(fits({ kind }, { kind: bad })).toBe(false);
    expect(fits({ kind }, { kind: null })).toBe(false);
  });
});
