import { describe, expect, it } from "vitest";
import { createStrikes, createStruckTurn } from "./strikes.js";

const MINUTES_MS = 60_000;
const party = (sender: number, keyId = "key") => ({ sender: new Uint8Array(20).fill(sender), keyId });

/** Strikes with a clock that the test moves. */
function strikesAt() {
  const clock = { ms: 0 };
  return { clock, strikes: createStrikes(() => clock.ms) };
}

describe("a sender whose wrapper blocks left out", () => {
  it("is struck until a block has one of its wrappers", () => {
    const { strikes } = strikesAt();
    strikes.strike(party(1));
    expect([strikes.isStruck(party(1)), strikes.isStruck(party(2))]).toEqual([true, false]);
    strikes.prove(party(1).sender);
    expect(strikes.isStruck(party(1))).toBe(false);
  });

  it("is struck for ten minutes from the last one on", () => {
    const { clock, strikes } = strikesAt();
    strikes.strike(party(1));
    clock.ms += 5 * MINUTES_MS;
    strikes.strike(party(1));
    clock.ms += 10 * MINUTES_MS - 1;
    expect(strikes.isStruck(party(1))).toBe(true);
    clock.ms += 1;
    expect(strikes.isStruck(party(1))).toBe(false);
  });
});

describe("an API key with three struck senders", () => {
  it("has its unproven senders struck, and neither its proven ones nor other keys'", () => {
    const { strikes } = strikesAt();
    strikes.prove(party(9).sender);
    for (const sender of [1, 2]) strikes.strike(party(sender));
    expect(strikes.isStruck(party(8))).toBe(false);
    strikes.strike(party(3));
    expect([8, 9].map((sender) => strikes.isStruck(party(sender)))).toEqual([true, false]);
    expect(strikes.isStruck(party(8, "other"))).toBe(false);
  });
});

describe("the turn of struck work", () => {
  const held = (count: number, highest: bigint) => ({ count, lowest: highest, highest });

  it("comes again once the waiver's nonce has passed the wrapper, and half a minute after one that blocks left out", () => {
    const clock = { ms: 0 };
    const turn = createStruckTurn(() => clock.ms);
    expect(turn.isFree(5n, held(0, 0n))).toBe(true);
    turn.onSigned(7n);
    expect([turn.isFree(7n, held(1, 7n)), turn.isFree(8n, held(1, 8n))]).toEqual([false, true]);
    turn.onLeftOut();
    expect(turn.isFree(8n, held(1, 8n))).toBe(false);
    clock.ms += 30_000;
    expect(turn.isFree(8n, held(1, 8n))).toBe(true);
  });

  it("comes again once the lane holds no such nonce any more", () => {
    const turn = createStruckTurn(() => 0);
    turn.onSigned(0n);
    expect([turn.isFree(0n, held(1, 0n)), turn.isFree(0n, held(0, 0n))]).toEqual([false, true]);
    turn.onSigned(7n);
    expect([turn.isFree(5n, held(1, 9n)), turn.isFree(5n, held(1, 6n))]).toEqual([false, true]);
  });
});
