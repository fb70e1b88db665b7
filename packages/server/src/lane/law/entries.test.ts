import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { Entries, PATIENCE_MS } from "./entries.js";

function onClock() {
  const clock = { ms: 0 };
  return { clock, entries: new Entries(() => clock.ms) };
}
const first = { id: "a", wrapperHash: bytes(32, 1) };

describe("a sign of a wrapper", () => {
  it("lasts once it was shown for a while, each sign by itself", () => {
    const { clock, entries } = onClock();
    expect(entries.isLasting(first, "absent")).toBe(false);
    clock.ms = PATIENCE_MS;
    expect([entries.isLasting(first, "absent"), entries.isLasting(first, "held")]).toEqual([true, false]);
  });

  it("is none of the submission's next wrapper", () => {
    const { clock, entries } = onClock();
    entries.isFirst(first, "stuck");
    clock.ms = PATIENCE_MS;
    const next = { ...first, wrapperHash: bytes(32, 2) };
    expect([entries.isFirst(next, "stuck"), entries.isFirst(next, "stuck")]).toEqual([true, false]);
  });

  it("can be forgotten", () => {
    const { entries } = onClock();
    const seen = [entries.isFirst(first, "plain"), entries.isFirst(first, "plain")];
    entries.forget(first, "plain");
    expect([...seen, entries.isFirst(first, "plain")]).toEqual([true, false, true]);
  });
});

it("signs are remembered of the latest submissions, up to a number", () => {
  const { entries } = onClock();
  const ids = Array.from({ length: 10_001 }, (_, i) => `${i}`);
  for (const id of ids) entries.isFirst({ id }, "stuck");
  expect(["1", "0"].map((id) => entries.isFirst({ id }, "stuck"))).toEqual([false, true]);
});
