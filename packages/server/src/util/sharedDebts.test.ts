import fc from "fast-check";
import { expect, it } from "vitest";
import { SharedDebts } from "./sharedDebts.js";

const shareOf = (parties: number) => Math.min(5, 10 / parties);

function debtsAt() {
  const clock = { ms: 0 };
  return { clock, debts: new SharedDebts(() => clock.ms) };
}

it("pays the same for all that owe something, and what one does not need for the others", () => {
  const { clock, debts } = debtsAt();
  for (const [party, amount] of [
    ["much", 10],
    ["little", 1],
    ["some", 3],
  ] as const)
    debts.charge(party, amount, 100);
  expect(debts.pay(shareOf)).toBe(3);
  // All three have paid 1 each after 0.3 s, and two of them 2 more after 0.4 s more. One alone pays 5 a second.
  clock.ms = 900;
  expect(debts.pay(shareOf)).toBe(1);
  expect(debts.debtOf("much")).toBeCloseTo(6);
  expect(debts.debtOf("some")).toBe(0);
});

it("lets nobody owe more than the most, and gives back", () => {
  const { clock, debts } = debtsAt();
  debts.charge("first", 100, 7);
  debts.charge("second", 4, 7);
  debts.charge("first", -5, 7);
  expect([debts.debtOf("first"), debts.debtOf("second")]).toEqual([2, 4]);
  debts.charge("second", -4, 7);
  expect([debts.pay(shareOf), debts.debtOf("second")]).toEqual([1, 0]);
  clock.ms = 400;
  debts.pay(shareOf);
  expect(debts.debtOf("first")).toBe(0);
});

it("remembers what the parts of a party owe for longer than what the party owes", () => {
  const { clock, debts } = debtsAt();
  debts.charge("key", 1, 100);
  debts.partsOf("key", shareOf).charge("part", 10, 100);
  clock.ms = 1_000;
  debts.pay(shareOf);
  expect(debts.debtOf("key")).toBe(0);
  debts.partsOf("other", shareOf);
  const parts = debts.partsOf("key", shareOf);
  parts.pay(shareOf);
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
        debts.pay(shareOf);
        debts.charge(party, amount, 15);
        known.set(party, Math.min(15, (known.get(party) ?? 0) + amount));
        if ((known.get(party) ?? 0) < 1e-9) known.delete(party);
        for (const name of ["a", "b", "c", "d"])
          expect(debts.debtOf(name)).toBeCloseTo(known.get(name) ?? 0, 6);
      }
    }),
  );
});
