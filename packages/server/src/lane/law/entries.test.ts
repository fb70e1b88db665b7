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

describe("a wrapper whose broadcast is not stored, and a submission that is set aside", () => {
  it("are not forgotten, however many others nodes show something of", () => {
    const { entries } = onClock();
    const held = { chain: 1, waiver: bytes(20, 1), owner: "", epoch: 1n };
    entries.set("a", "taken", { ...first, origin: "", held, takenAt: 0, dueAt: 0 });
    entries.set("b", "retry", { isSuspect: true, wakings: 0, wokenAt: 0 });
    const others = Array.from({ length: 10_001 }, (_, i) => `${i}`);
    for (const id of others) entries.isFirst({ id }, "stuck");
    const left = [entries.having("taken"), entries.having("retry")].map((all) => all.map(([id]) => id));
    expect(left).toEqual([["a"], ["b"]]);
    expect(entries.isFirst({ id: "0" }, "stuck")).toBe(true);
  });
});
