import { describe, expect, it } from "vitest";
import { HeadOfLine } from "./head.js";

const hashOf = (n: number) => new Uint8Array(32).fill(n);

/** A head with a clock, whose polls the test makes. */
function headAt() {
  const clock = { ms: 0 };
  const head = new HeadOfLine(() => clock.ms);
  const poll = (block: number, waiverNonce: number, wrapper?: number, ms = 700) => {
    clock.ms += ms;
    const wrapperHash = wrapper === undefined ? undefined : hashOf(wrapper);
    head.observe({ block: BigInt(block), waiverNonce: BigInt(waiverNonce), wrapperHash });
  };
  return { clock, head, poll };
}

describe("the head of a line", () => {
  it("puts the brake on after two blocks that pass it over, and is over after four", () => {
    const { head, poll } = headAt();
    const states = [10, 11, 12, 13, 14].map((block) => {
      poll(block, 0, 1);
      const state = [head.isBraked, head.isOver];
      head.takeLoss();
      return state;
    });
    expect(states).toEqual([
      [false, false],
      [false, false],
      [true, false],
      [true, false],
      [true, true],
    ]);
    expect(head.wait).toEqual({ cause: "head", sentence: "4 blocks left out nonce 0" });
  });

  it("is not over before the same bytes went out again, though a poll sees many blocks at once", () => {
    const { head, poll } = headAt();
    poll(10, 0, 1);
    poll(20, 0, 1);
    expect([head.isBraked, head.isOver, head.takeLoss()]).toEqual([true, false, true]);
    poll(21, 0, 1);
    expect([head.isOver, head.takeLoss()]).toEqual([false, false]);
    poll(22, 0, 1);
    expect(head.isOver).toBe(true);
  });

  it("is left for a second, however many blocks come", () => {
    const { head, poll } = headAt();
    for (let block = 10; block < 20; block++) poll(block, 0, 1, 50);
    expect([head.isBraked, head.isOver]).toEqual([true, false]);
  });

  it("goes by the blocks that are usual for the lane, and by six at most", () => {
    const { head, poll } = headAt();
    let block = 10;
    for (let nonce = 0; nonce < 20; nonce++) {
      for (let passed = 0; passed <= 8; passed++) poll(block++, nonce, nonce);
    }
    poll(block, 20, 20);
    poll(block + 7, 20, 20);
    expect(head.isBraked).toBe(false);
    poll(block + 8, 20, 20);
    expect(head.isBraked).toBe(true);
  });

  it("does not take one late head among a few for usual", () => {
    const { head, poll } = headAt();
    let block = 10;
    for (const blocks of [0, 0, 6, 0]) {
      const nonce = block;
      for (let passed = 0; passed <= blocks; passed++) poll(block++, nonce, nonce);
    }
    poll(block, block, 1);
    poll(block + 2, block, 1);
    expect(head.isBraked).toBe(true);
  });

  it("keeps the brake on until the nonce is used, whoever uses it", () => {
    const { head, poll } = headAt();
    for (const block of [10, 11, 12, 13, 14]) poll(block, 0, 1);
    head.onWithdrawn();
    poll(15, 0);
    expect([head.isFree, head.isBraked]).toEqual([true, true]);
    head.onFilled(hashOf(2));
    poll(15, 0, 2);
    expect([head.isFree, head.isBraked, head.isOver]).toEqual([false, true, false]);
    poll(16, 1, 3);
    expect([head.isBraked, head.wait]).toEqual([false, undefined]);
  });

  it("names a jam, and forgets it once the nonce is used", () => {
    const { head, poll } = headAt();
    for (const block of [10, 11, 12, 13, 14]) poll(block, 7, 1);
    head.onWithdrawn();
    head.onHeld();
    expect(head.wait).toEqual({
      cause: "jam",
      sentence: "nonce 7 is held by a wrapper that 4 blocks left out",
    });
    poll(15, 8);
    expect([head.isJammed, head.isBraked]).toEqual([false, false]);
  });

  it("is passed over by no block without room", () => {
    const { head, poll } = headAt();
    for (const block of [10, 11, 12, 13, 14]) {
      poll(block, 0, 1);
      head.pardon();
    }
    expect([head.passed, head.isBraked, head.isOver]).toEqual([0n, false, false]);
  });

  it("has a name where blocks have no room for ten seconds", () => {
    const { clock, head, poll } = headAt();
    for (const block of [10, 11, 12]) {
      poll(block, 0, 1);
      head.pardon();
      clock.ms += 5_000;
    }
    expect(head.wait).toEqual({ cause: "head", sentence: "blocks have no room for nonce 0" });
  });

  it("puts the brake on where the chain makes no block for ten seconds", () => {
    const { clock, head, poll } = headAt();
    poll(10, 0, 1);
    clock.ms += 9_900;
    expect(head.isBraked).toBe(false);
    clock.ms += 200;
    expect(head.wait).toEqual({ cause: "block", sentence: "no block has come since nonce 0 was sent" });
  });

  it("allows for the time that the chain's blocks take", () => {
    const { clock, head, poll } = headAt();
    for (const block of [10, 11, 12]) poll(block, block, block, 12_000);
    clock.ms += 20_000;
    expect(head.isBraked).toBe(false);
    clock.ms += 3_000;
    expect(head.isBraked).toBe(true);
  });

  it("stands still only while a node has a wrapper under the nonce", () => {
    const { clock, head, poll } = headAt();
    poll(10, 0);
    clock.ms += 60_000;
    poll(500, 0, 1);
    expect(head.isBraked).toBe(false);
  });
});
