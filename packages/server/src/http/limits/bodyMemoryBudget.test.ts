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

  it("goes to whoever needs little, from the address that holds most, if that is much more", () => {
    const budget = new BodyMemoryBudget(64 * MIB, MIB, 8 * MIB);
    const cut: number[] = [];
    const hold = (address: number, bytes: number) =>
      budget.openReservation(publishable(1, address), () => cut.push(address)).grow(bytes);
    hold(1, 5 * MIB);
    for (const address of [2, 3, 4]) hold(address, 9 * MIB);
    expect(() => hold(5, 4.5 * MIB)).toThrow("publishable keys hold");
    expect(cut).toEqual([]);
    hold(5, MIB);
    expect(cut).toEqual([2]);
    expect(budget.reservedBytes).toBe(24 * MIB);
    for (const address of [3, 4]) expect(() => hold(address, MIB)).toThrow("this address holds");
  });

  it("is left to a key that needs little where publishable keys and another key hold all of it", () => {
    const budget = new BodyMemoryBudget(64 * MIB, MIB);
    const cut: string[] = [];
    const hold = (owner: BudgetOwner, bytes: number) =>
      budget.openReservation(owner, () => cut.push(owner.keyId)).grow(bytes);
    for (let address = 0; address < 32; address++) hold(publishable(1, address), MIB);
    for (let i = 0; i < 4; i++) hold({ keyId: "flood", limits }, 8 * MIB);
    hold({ keyId: "other", limits }, MIB);
    expect(cut).toEqual(["flood"]);
    for (let i = 0; i < 7; i++) hold({ keyId: "other", limits }, MIB);
    expect(cut).toEqual(["flood"]);
  });

  it("is taken from no secret key by publishable ones that hold their share", () => {
    const budget = new BodyMemoryBudget(64 * MIB, 8 * MIB);
    const cut: string[] = [];
    const hold = (owner: BudgetOwner, bytes: number) =>
      budget.openReservation(owner, () => cut.push(owner.keyId)).grow(bytes);
    for (let i = 0; i < 4; i++) hold({ keyId: "secret", limits }, 8 * MIB);
    for (let address = 0; address < 4; address++) hold(publishable(1, address), 8 * MIB);
    hold(publishable(1, 5), MIB);
    expect(cut).toEqual(["public 1"]);
  });
});
