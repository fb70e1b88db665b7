import { describe, expect, it } from "vitest";
import { BodyMemoryBudget, type BudgetOwner } from "./bodyMemoryBudget.js";

const MIB = 1_048_576;
const limits = { queueShare: 0.5, maxBodyBytes: undefined };
const publishable = (key: number, address: number): BudgetOwner => ({
  keyId: `public ${key}`,
  address: `192.0.2.${address}`,
  limits,
});

describe("the memory for bodies", () => {
  it("is never more than half held by publishable keys, however many keys and addresses there are", () => {
    const budget = new BodyMemoryBudget(256 * MIB, 4 * MIB);
    const hold = (owner: BudgetOwner) => budget.openReservation(owner).grow(4 * MIB);
    let held = 0;
    for (let key = 0; key < 10; key++) {
      for (let address = 0; address < 20; address++) {
        try {
          hold(publishable(key, address));
          held++;
        } catch {
          // The key's or all publishable keys' share is held.
        }
      }
    }
    expect(held).toBe(32);
    expect(() => hold({ keyId: "secret", limits })).not.toThrow();
  });

  it("is free again when it is released", () => {
    const budget = new BodyMemoryBudget(8 * MIB, 4 * MIB);
    const reservation = budget.openReservation(publishable(1, 1));
    reservation.grow(4 * MIB);
    expect(() => budget.openReservation(publishable(2, 2)).grow(1)).toThrow("publishable keys hold");
    reservation.release();
    budget.openReservation(publishable(2, 2)).grow(4 * MIB);
    expect(budget.reservedBytes).toBe(4 * MIB);
  });

  it("is not taken for a client that has left, while its request is still worked at", () => {
    const budget = new BodyMemoryBudget(8 * MIB, 4 * MIB);
    const reservation = budget.openReservation(publishable(1, 1));
    reservation.grow(MIB);
    reservation.release();
    reservation.grow(4 * MIB);
    expect(budget.reservedBytes).toBe(0);
  });
});
