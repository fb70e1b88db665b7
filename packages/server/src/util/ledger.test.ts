import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ledger } from "./ledger.js";

const TERMS = { rateBurst: 10, ratePerSecond: 2 };

function ledgerAt() {
  const clock = { ms: 0 };
  return { clock, ledger: new Ledger(() => clock.ms) };
}

const shareOf = (parties: number) => Math.min(5, 10 / parties);
const upTo = (rateBurst: number) => ({ rateBurst, ratePerSecond: 1 });

function debtsAt() {
  const clock = { ms: 0 };
  return { clock, debts: new Ledger(() => clock.ms, shareOf) };
}

describe("a party's debt", () => {
  it("is paid off by time, and never above the burst or below nothing", () => {
    const { clock, ledger } = ledgerAt();
    ledger.charge("a", 25, TERMS);
    expect([ledger.debtOf("a", TERMS), ledger.debtOf("b", TERMS)]).toEqual([10, 0]);
    clock.ms = 1_500;
    expect(ledger.debtOf("a", TERMS)).toBe(7);
    ledger.charge("a", -9, TERMS);
    expect(ledger.debtOf("a", TERMS)).toBe(0);
  });

  it("lets it be charged up to the burst, and then as time goes by", () => {
    const { clock, ledger } = ledgerAt();
    expect([6, 4, 1].map((amount) => ledger.take("a", amount, TERMS))).toEqual([0, 0, 500]);
    clock.ms = 500;
    expect(ledger.take("a", 1, TERMS)).toBe(0);
  });

  it("is paid off by other terms from the moment at which they are known", () => {
    const { clock, ledger } = ledgerAt();
    ledger.charge("a", 10, { rateBurst: 10, ratePerSecond: 0.01 });
    const raised = { rateBurst: 10, ratePerSecond: 20 };
    expect(ledger.take("a", 10, raised)).toBe(500);
    clock.ms = 500;
    expect(ledger.take("a", 10, raised)).toBe(0);
  });

  it("is forgotten for the parties that were charged longest ago, of more than 10,000", () => {
    const { ledger } = ledgerAt();
    ledger.charge("first", 1, TERMS);
    ledger.charge("second", 1, TERMS);
    for (let i = 0; i < 9_998; i++) ledger.charge(`${i}`, 1, TERMS);
    ledger.charge("first", 1, TERMS);
    ledger.charge("last", 1, TERMS);
    expect(["first", "second", "last"].map((party) => ledger.debtOf(party, TERMS))).toEqual([2, 0, 1]);
  });

  it("bounds a party also where 10,000 others owe for longer", () => {
    const { ledger } = ledgerAt();
    const slow = { rateBurst: 10, ratePerSecond: 0.1 };
    for (let i = 0; i < 10_000; i++) ledger.charge(`${i}`, 10, slow);
    const taken = Array.from({ length: 2 * TERMS.rateBurst }, () => ledger.take("fast", 1, TERMS));
    expect(taken.filter((restMs) => restMs === 0)).toHaveLength(TERMS.rateBurst);
  });
});

describe("debts of parties that share what time pays off", () => {
  it("pays the same for all that owe something, and what one does not need for the others", () => {
    const { clock, debts } = debtsAt();
    for (const [party, amount] of [
      ["much", 10],
      ["little", 1],
      ["some", 3],
    ] as const)
      debts.charge(party, amount, upTo(100));
    expect(debts.share).toBeCloseTo(10 / 3);
    // All three have paid 1 each after 0.3 s, and two of them 2 more after 0.4 s more. One alone pays 5 a second.
    clock.ms = 900;
    expect(debts.share).toBe(5);
    expect(debts.debtOf("much")).toBeCloseTo(6);
    expect(debts.debtOf("some")).toBe(0);
  });

  it("lets nobody owe more than the most, and gives back", () => {
    const { clock, debts } = debtsAt();
    debts.charge("first", 100, upTo(7));
    debts.charge("second", 4, upTo(7));
    debts.charge("first", -5, upTo(7));
    expect([debts.debtOf("first"), debts.debtOf("second")]).toEqual([2, 4]);
    debts.charge("second", -4, upTo(7));
    expect([debts.share, debts.debtOf("second")]).toEqual([5, 0]);
    clock.ms = 400;
    expect(debts.debtOf("first")).toBe(0);
  });

  it("remembers what the parts of a party owe for longer than what the party owes", () => {
    const { clock, debts } = debtsAt();
    debts.charge("key", 1, upTo(100));
    debts.partsOf("key", shareOf).charge("part", 10, upTo(100));
    clock.ms = 1_000;
    expect(debts.debtOf("key")).toBe(0);
    debts.partsOf("other", shareOf);
    const parts = debts.partsOf("key", shareOf);
    expect(parts.debtOf("part")).toBe(5);
  });

  it("keeps to the law, whoever is charged and whenever time passes", () => {
    const step = fc.record({
      party: fc.constantFrom("a", "b", "c", "d"),
      amount: fc.integer({ min: -6, max: 12 }),
      ms: fc.constantFrom(0, 1, 100, 700, 5_000),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { clock, debts } = debtsAt();
        const known = new Map<string, number>();
        for (const { party, amount, ms } of steps) {
          clock.ms += ms;
          for (let left = ms / 1_000; left > 0 && known.size > 0; ) {
            const share = shareOf(known.size);
            const seconds = Math.min(left, Math.min(...known.values()) / share);
            for (const [name, debt] of known) known.set(name, debt - seconds * share);
            for (const [name, debt] of known) if (debt < 1e-9) known.delete(name);
            left -= seconds;
          }
          debts.charge(party, amount, upTo(15));
          known.set(party, Math.min(15, (known.get(party) ?? 0) + amount));
          if ((known.get(party) ?? 0) < 1e-9) known.delete(party);
          for (const name of ["a", "b", "c", "d"])
            expect(debts.debtOf(name)).toBeCloseTo(known.get(name) ?? 0, 6);
        }
      }),
    );
  });
});
