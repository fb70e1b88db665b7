import { describe, expect, it } from "vitest";
import { Ledger } from "./ledger.js";

const TERMS = { rateBurst: 10, ratePerSecond: 2 };

function ledgerAt() {
  const clock = { ms: 0 };
  return { clock, ledger: new Ledger(() => clock.ms) };
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

  it("is forgotten for the parties that were charged longest ago, of more than 10,000", () => {
    const { ledger } = ledgerAt();
    ledger.charge("first", 1, TERMS);
    ledger.charge("second", 1, TERMS);
    for (let i = 0; i < 9_998; i++) ledger.charge(`${i}`, 1, TERMS);
    ledger.charge("first", 1, TERMS);
    ledger.charge("last", 1, TERMS);
    expect(["first", "second", "last"].map((party) => ledger.debtOf(party, TERMS))).toEqual([2, 0, 1]);
  });
});
