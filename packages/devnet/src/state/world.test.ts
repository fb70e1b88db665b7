import type { Hex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { Overlay } from "./overlay.js";
import { EMPTY_CODE_HASH } from "./reader.js";
import { EMPTY_ROOT } from "./trie.js";
import { WorldState } from "./world.js";

const ADDRESS: Hex = `0x${"aa".repeat(20)}`;
const OTHER_ADDRESS: Hex = `0x${"bb".repeat(20)}`;
const slot = (i: number): Hex => `0x${i.toString(16).padStart(64, "0")}`;
const account = (balance: bigint) => ({ nonce: 0n, balance, codeHash: EMPTY_CODE_HASH });

function apply(world: WorldState, change: (state: Overlay) => void): Hex {
  const state = new Overlay(world);
  change(state);
  return world.apply(state.changes);
}

describe("an overlay", () => {
  it("reverts the writes since a checkpoint, and no earlier ones", async () => {
    const state = new Overlay(new WorldState(0));
    state.setAccount(ADDRESS, account(1n));
    state.setSlot(ADDRESS, slot(1), Uint8Array.of(1));
    await state.checkpoint();
    state.setAccount(ADDRESS, account(2n));
    await state.checkpoint();
    state.wipeSlots(ADDRESS);
    state.setSlot(ADDRESS, slot(2), Uint8Array.of(2));
    await state.commit();
    expect(state.slot(ADDRESS, slot(1))).toHaveLength(0);
    await state.revert();
    expect(state.account(ADDRESS)).toEqual(account(1n));
    expect(state.slot(ADDRESS, slot(1))).toEqual(Uint8Array.of(1));
    expect(state.slot(ADDRESS, slot(2))).toHaveLength(0);
  });

  it("hides the storage of its base after a wipe", () => {
    const world = new WorldState(1);
    apply(world, (state) => state.setSlot(ADDRESS, slot(1), Uint8Array.of(1)));
    const state = new Overlay(world);
    state.wipeSlots(ADDRESS);
    expect(state.slot(ADDRESS, slot(1))).toHaveLength(0);
    expect(world.slot(ADDRESS, slot(1))).toHaveLength(1);
  });
});

describe("the world state", () => {
  it("reads past states while new blocks are applied", () => {
    const world = new WorldState(10);
    const past = world.at(0);
    apply(world, (state) => {
      state.setAccount(ADDRESS, account(1n));
      state.setSlot(ADDRESS, slot(1), Uint8Array.of(1));
    });
    apply(world, (state) => {
      state.setAccount(ADDRESS, undefined);
      state.wipeSlots(ADDRESS);
      state.setAccount(OTHER_ADDRESS, account(7n));
    });
    expect(past?.account(ADDRESS)).toBeUndefined();
    expect(world.at(1)?.account(ADDRESS)).toEqual(account(1n));
    expect(world.at(1)?.slot(ADDRESS, slot(1))).toEqual(Uint8Array.of(1));
    expect(world.at(1)?.account(OTHER_ADDRESS)).toBeUndefined();
    expect(world.at(2)?.account(ADDRESS)).toBeUndefined();
    expect(world.at(2)?.slot(ADDRESS, slot(1))).toHaveLength(0);
    expect(world.at(3)).toBeUndefined();
  });

  it("keeps the given number of past states", () => {
    const world = new WorldState(2);
    for (let i = 1; i <= 5; i++) apply(world, (state) => state.setAccount(ADDRESS, account(BigInt(i))));
    expect(world.oldestBlock).toBe(3);
    expect(world.at(2)).toBeUndefined();
    expect(world.at(3)?.account(ADDRESS)?.balance).toBe(3n);
  });

  it("takes patches between blocks: the latest state has them at once, the next root commits to them", () => {
    const [world, unpatched] = [new WorldState(10), new WorldState(10)];
    const first = (state: Overlay) => state.setAccount(ADDRESS, account(1n));
    const rootOfFirst = apply(world, first);
    apply(unpatched, first);
    const patch = new Overlay(world);
    patch.setAccount(OTHER_ADDRESS, account(5n));
    world.patch(patch.changes);
    expect(world.at(1)?.account(OTHER_ADDRESS)).toEqual(account(5n));
    const root = apply(world, (state) => state.setSlot(ADDRESS, slot(1), Uint8Array.of(1)));
    expect(world.at(1)?.account(OTHER_ADDRESS)).toBeUndefined();
    expect(world.before(2)?.account(OTHER_ADDRESS)).toEqual(account(5n));
    expect(world.before(2)?.slot(ADDRESS, slot(1))).toHaveLength(0);
    expect(root).toBe(
      apply(unpatched, (state) => {
        state.setAccount(OTHER_ADDRESS, account(5n));
        state.setSlot(ADDRESS, slot(1), Uint8Array.of(1));
      }),
    );
    expect(root).not.toBe(rootOfFirst);
  });

  it("rolls back to a mark and its root after any number of blocks", () => {
    const world = new WorldState(1);
    apply(world, (state) => {
      state.setAccount(ADDRESS, account(1n));
      state.setSlot(ADDRESS, slot(1), Uint8Array.of(1));
    });
    const patch = new Overlay(world);
    patch.setSlot(ADDRESS, slot(2), Uint8Array.of(2));
    world.patch(patch.changes);
    const root = world.root();
    const mark = world.pin();
    for (let i = 1; i <= 5; i++) {
      apply(world, (state) => {
        state.setAccount(OTHER_ADDRESS, account(BigInt(i)));
        state.wipeSlots(ADDRESS);
        state.setSlot(ADDRESS, slot(i), Uint8Array.of(9));
        if (i === 3) state.setAccount(ADDRESS, undefined);
      });
    }
    world.rollBack(mark);
    world.unpin(mark);
    expect(world.root()).toBe(root);
    expect(world.account(OTHER_ADDRESS)).toBeUndefined();
    expect([1, 2, 3].map((i) => world.slot(ADDRESS, slot(i))[0])).toEqual([1, 2, undefined]);
    expect(world.at(2)).toBeUndefined();
    expect(world.oldestBlock).toBe(1);
    for (let i = 2; i <= 4; i++) apply(world, (state) => state.setAccount(OTHER_ADDRESS, account(BigInt(i))));
    expect(world.oldestBlock).toBe(3);
    expect(world.at(3)?.account(OTHER_ADDRESS)?.balance).toBe(3n);
  });

  it("has the empty root again after everything is deleted", () => {
    const world = new WorldState(0);
    const one = apply(world, (state) => {
      state.setAccount(ADDRESS, account(1n));
      state.setSlot(ADDRESS, slot(1), Uint8Array.of(1));
    });
    expect(one).not.toBe(EMPTY_ROOT);
    const none = apply(world, (state) => {
      state.setAccount(ADDRESS, undefined);
      state.wipeSlots(ADDRESS);
    });
    expect(none).toBe(EMPTY_ROOT);
  });
});
