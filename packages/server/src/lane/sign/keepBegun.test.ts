import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { keepBegun, type Placed } from "./placement.js";

/** Rows as `sender nonce`, at the waiver nonces from `first` on. */
function placedOf(rows: readonly string[], first = 10n): Placed[] {
  return rows.map((row, i) => {
    const [sender = "", nonce = ""] = row.split(" ");
    const submission = { id: row, sender: Buffer.from(sender), senderNonce: BigInt(nonce) };
    return { submission, waiverNonce: first + BigInt(i) } as unknown as Placed;
  });
}

const textOf = (placed: readonly Placed[]) =>
  placed.map(({ submission, waiverNonce }) => `${waiverNonce} ${submission.id}`);

describe("what a custody has begun to sign", () => {
  it("keeps its nonce when others come before it", () => {
    const placed = placedOf(["new 0", "a 0", "b 0"]);
    const begun = new Map([
      ["a 0", 10n],
      ["b 0", 11n],
    ]);
    expect(textOf(keepBegun(placed, begun))).toEqual(["10 a 0", "11 b 0", "12 new 0"]);
  });

  it("keeps its nonce when one below it is given up, and another submission gets that", () => {
    const placed = placedOf(["b 0", "c 0", "d 0"]);
    const begun = new Map([
      ["b 0", 11n],
      ["c 0", 12n],
    ]);
    expect(textOf(keepBegun(placed, begun))).toEqual(["10 d 0", "11 b 0", "12 c 0"]);
  });

  it("keeps its nonce alone, and the others come in their order", () => {
    const placed = placedOf(["x 0", "y 0", "a 0"]);
    expect(textOf(keepBegun(placed, new Map([["a 0", 10n]])))).toEqual(["10 a 0", "11 x 0", "12 y 0"]);
  });

  it("keeps the nonces of one sender in the sender's order", () => {
    const placed = placedOf(["new 0", "a 0", "a 1"]);
    const begun = new Map([
      ["a 0", 10n],
      ["a 1", 11n],
    ]);
    expect(textOf(keepBegun(placed, begun))).toEqual(["10 a 0", "11 a 1", "12 new 0"]);
  });

  it("gets another nonce if its own is not among those of the step", () => {
    const placed = placedOf(["new 0", "a 0", "b 0"]);
    const begun = new Map([
      ["a 0", 10n],
      ["b 0", 99n],
    ]);
    expect(textOf(keepBegun(placed, begun))).toEqual(["10 a 0", "11 new 0", "12 b 0"]);
  });

  it("moves where nothing can fill the nonce below it without changing a sender's order", () => {
    const placed = placedOf(["b 0", "b 1"]);
    expect(textOf(keepBegun(placed, new Map([["b 0", 11n]])))).toEqual(["10 b 0", "11 b 1"]);
  });

  it("loses no submission, uses the same nonces, and keeps each sender's order, whatever was begun", () => {
    const rows = fc
      .array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 12 })
      .map((senders) =>
        senders.map(
          (sender, i) => `s${sender} ${senders.slice(0, i).filter((one) => one === sender).length}`,
        ),
      );
    const begunOf = fc.array(fc.tuple(fc.nat(11), fc.nat(14)), { maxLength: 12 });
    fc.assert(
      fc.property(rows, begunOf, (all, begun) => {
        const placed = placedOf(all);
        const taken = new Map(begun.map(([row, nonce]) => [all[row] ?? "gone", BigInt(8 + nonce)]));
        const kept = keepBegun(placed, taken);
        expect(kept.map(({ waiverNonce }) => waiverNonce)).toEqual(
          placed.map(({ waiverNonce }) => waiverNonce),
        );
        expect(kept.map(({ submission }) => submission.id).sort()).toEqual([...all].sort());
        for (const sender of ["s0", "s1", "s2", "s3"]) {
          const nonces = kept
            .filter(({ submission }) => submission.id.startsWith(sender))
            .map(({ submission }) => Number(submission.senderNonce));
          expect(nonces).toEqual([...nonces].sort((a, b) => a - b));
        }
      }),
      { numRuns: 200 },
    );
  });
});
