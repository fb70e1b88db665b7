import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import type { LaneSnapshot, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import { type Assigned, assertSendersInOrder, type Placed, placeAbove, planGaps } from "./placement.js";

const addressOf = (user: string) => bytes(20, user.charCodeAt(0));

/** Ready submissions, each named by its user: `a` is a submission of the user a. A user's come after all that the lane has of the user. */
const readyOf = (users: string) =>
  [...users].map(
    (user, i) => ({ id: user, sender: addressOf(user), senderNonce: 100n + BigInt(i) }) as QueuedSubmission,
  );

/** The waiver nonces from `first` on: a letter is a user's submission that has the nonce, a dot is a free nonce. */
const assignedOf = (users: string, first = 10n): Assigned[] =>
  [...users].flatMap((user, i) => {
    const place = { waiverNonce: first + BigInt(i), sender: addressOf(user), senderNonce: BigInt(i) };
    const id = `${user}${place.waiverNonce}`;
    return user === "." ? [] : [{ id, state: "broadcast", wrapperHash: bytes(32, 1), ...place }];
  });

const textOf = (placed: readonly Placed[] | undefined) =>
  placed?.map(({ submission, waiverNonce }) => `${submission.id}${waiverNonce}`).join(" ");

describe("the order of a sender", () => {
  const placedAt = (waiverNonce: bigint, user: number, senderNonce: bigint) => ({
    submission: { sender: bytes(20, user), senderNonce } as QueuedSubmission,
    waiverNonce,
  });
  const inOrder = [placedAt(7n, 1, 3n), placedAt(8n, 2, 0n), placedAt(9n, 1, 4n)];

  it("gives no waiver nonce to a sender's nonce behind a later one, or behind the same", () => {
    expect(() => assertSendersInOrder(inOrder)).not.toThrow();
    expect(() => assertSendersInOrder([...inOrder, placedAt(10n, 1, 2n)])).toThrow(
      /the nonce 2 of 0x01.* would come after a later one, at the waiver nonce 10/,
    );
    expect(() => assertSendersInOrder([...inOrder, placedAt(10n, 1, 4n)])).toThrow(/the nonce 4 of/);
  });
});

describe("placing above the assigned waiver nonces", () => {
  /** Places `xy`. @param users the assigned nonces, from 10 on. */
  function placeXy(users: string, chainNonce: bigint, nextAfterIncluded = 0n, first = 10n) {
    const nonces = assignedOf(users, first).map(({ waiverNonce }) => waiverNonce);
    const assigned = { count: nonces.length, lowest: nonces[0] ?? 0n, highest: nonces.at(-1) ?? 0n };
    return textOf(placeAbove({ assigned, nextAfterIncluded } as LaneSnapshot, chainNonce, readyOf("xy")));
  }

  it("begins at the next nonce of the chain, or above the highest of a block, whichever is higher", () => {
    expect(placeXy("", 10n)).toBe("x10 y11");
    expect(placeXy("", 10n, 12n)).toBe("x12 y13");
    expect(placeXy("", 12n, 10n)).toBe("x12 y13");
    expect(placeXy("", 0n)).toBe("x0 y1");
  });

  it("goes above the highest assigned nonce where none is free below", () => {
    expect(placeXy("abc", 10n)).toBe("x13 y14");
    expect(placeXy("abc", 12n)).toBe("x13 y14");
    expect(placeXy("a", 10n)).toBe("x11 y12");
    expect(placeXy("a", 0n, 0n, 0n)).toBe("x1 y2");
  });

  it("begins at the chain's nonce where that is above all assigned, whatever is free among these", () => {
    expect(placeXy("a.c", 13n)).toBe("x13 y14");
    expect(placeXy("abc", 14n)).toBe("x14 y15");
  });

  it("leaves a lane with a gap to the plan that fills gaps", () => {
    expect(placeXy("a.c", 10n)).toBeUndefined();
    expect(placeXy("bc", 9n)).toBeUndefined();
    expect(placeXy("a", 9n)).toBeUndefined();
    expect(placeXy("a.c", 12n)).toBeUndefined();
  });
});

describe("the plan of a lane with gaps", () => {
  /** @param users the assigned nonces, from 10 on. */
  function plan(users: string, ready: string, first = 10n) {
    const { unfilled, placed } = planGaps(first, assignedOf(users), readyOf(ready));
    return { unfilled: unfilled.map(({ id }) => id).join(" "), placed: textOf(placed) };
  }

  it("fills the lowest free nonces, and goes on above the highest", () => {
    expect(plan("a..b", "xyz")).toEqual({ unfilled: "", placed: "x11 y12 z14" });
    expect(plan("a", "x")).toEqual({ unfilled: "", placed: "x11" });
    expect(plan("", "x")).toEqual({ unfilled: "", placed: "x10" });
    expect(plan("", "")).toEqual({ unfilled: "", placed: "" });
    expect(plan("abc", "x", 15n)).toEqual({ unfilled: "", placed: "x15" });
  });

  it("counts a nonce below the first unused one neither as assigned nor as a gap", () => {
    expect(plan("a.b.c", "x", 12n)).toEqual({ unfilled: "", placed: "x13" });
    expect(plan("abc", "", 11n)).toMatchObject({ unfilled: "" });
  });

  it("queues the highest of the lane again where the ready ones are too few", () => {
    expect(plan("a..b", "x").unfilled).toBe("b13");
    expect(plan("a..bcde", "").unfilled).toBe("e16 d15");
    expect(plan(".....a", "").unfilled).toBe("a15");
  });

  it("queues the highest again that come before all others of their senders above the gap, and leaves the rest in the pools", () => {
    expect(plan("a.bac", "").unfilled).toBe("c14");
    expect(plan("a.bca", "").unfilled).toBe("a14");
    expect(plan("a.aba", "").unfilled).toBe("b13 a14");
    expect(plan(".abcabcd", "").unfilled).toBe("d17");
    expect(plan(".abcabc", "").unfilled).toBe("c13 c16");
  });

  it("leaves what is above a nonce as it is", () => {
    const { unfilled, placed } = planGaps(10n, assignedOf("a.b.cd"), [], 11n);
    expect(unfilled.map(({ id }) => id)).toEqual(["d15"]);
    expect(placed).toEqual([]);
    const ready = readyOf("xyz");
    expect(textOf(planGaps(10n, assignedOf("a.b.c"), ready, 11n).placed)).toBe("x11");
    expect(textOf(planGaps(10n, assignedOf("a"), ready, 11n).placed)).toBe("x11 y12 z13");
  });

  it("fills a gap with an earlier nonce of its sender than those above, and not with a later one", () => {
    const [earlier] = readyOf("b").map((one) => ({ ...one, senderNonce: 1n }));
    expect(textOf(planGaps(10n, assignedOf("a.b"), earlier ? [earlier] : []).placed)).toBe("b11");
    expect(plan("a.b", "bx")).toEqual({ unfilled: "", placed: "x11 b13" });
    expect(plan("a.b", "b").unfilled).toBe("b12");
    expect(plan("ab.c", "b")).toEqual({ unfilled: "", placed: "b12" });
    expect(plan("a.b", "ax")).toEqual({ unfilled: "", placed: "a11 x13" });
  });

  const users = (maxLength: number, letters: string) =>
    fc.array(fc.constantFrom(...letters), { maxLength }).map((all) => all.join(""));
  const situation = [users(8, "abc."), users(5, "abcd"), fc.bigInt(8n, 19n)] as const;

  it("leaves no nonce free once what it queues again is ready, and puts no nonce of a sender below an earlier one", () => {
    fc.assert(
      fc.property(...situation, (lane, ready, first) => {
        let assigned = assignedOf(lane);
        let waiting = readyOf(ready);
        let { unfilled, placed } = planGaps(first, assigned, waiting);
        while (unfilled.length > 0) {
          expect(unfilled.length).toBeLessThanOrEqual(assigned.length);
          const moved = unfilled.map(
            (one) => ({ ...one, innerRaw: bytes(1, 0) }) as never as QueuedSubmission,
          );
          assigned = assigned.filter((one) => !unfilled.includes(one));
          waiting = [...moved, ...waiting].sort((a, b) => Number(a.senderNonce - b.senderNonce));
          ({ unfilled, placed } = planGaps(first, assigned, waiting));
        }
        expect(placed.map(({ submission }) => submission)).toHaveLength(waiting.length);
        const all = [
          ...assigned.filter(({ waiverNonce }) => waiverNonce >= first),
          ...placed.map(({ submission, waiverNonce }) => ({ ...submission, waiverNonce })),
        ].sort((a, b) => Number(a.waiverNonce - b.waiverNonce));
        expect(all.map(({ waiverNonce }) => waiverNonce)).toEqual(all.map((_, i) => first + BigInt(i)));
        expect(() =>
          assertSendersInOrder(
            all.map((one) => ({ submission: one as never, waiverNonce: one.waiverNonce })),
          ),
        ).not.toThrow();
      }),
    );
  });
});
