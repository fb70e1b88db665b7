import { bytesEqual } from "@gas-waiver/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import type { LaneSnapshot, QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import {
  type Assigned,
  assertSendersInOrder,
  lowestFreeNonce,
  type Placed,
  placeAbove,
  planGaps,
} from "./placement.js";

const addressOf = (user: string) => bytes(20, user.charCodeAt(0));

/** Ready submissions, each named by its user: `a` is a submission of the user a. */
const readyOf = (users: string) =>
  [...users].map((user) => ({ id: user, sender: addressOf(user), senderNonce: 0n }) as QueuedSubmission);

/** The waiver nonces from `first` on: a letter is a user's submission that has the nonce, a dot is a free nonce. */
const assignedOf = (users: string, first = 10n): Assigned[] =>
  [...users].flatMap((user, i) => {
    const sender = addressOf(user);
    const waiverNonce = first + BigInt(i);
    const id = `${user}${waiverNonce}`;
    return user === "." ? [] : [{ id, state: "broadcast", wrapperHash: bytes(32, 1), waiverNonce, sender }];
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
    expect(plan("a..bcde", "").unfilled).toBe("d15 e16");
    expect(plan(".....a", "").unfilled).toBe("a15");
  });

  it("queues a sender's others above the gap again with the highest, and leaves those below the gap", () => {
    expect(plan("a.bac", "").unfilled).toBe("c14");
    expect(plan("a.bca", "").unfilled).toBe("a14");
    expect(plan("a.aba", "").unfilled).toBe("a12 a14");
  });

  it("fills no gap with a submission whose sender has one above the gap", () => {
    expect(plan("a.b", "bx")).toEqual({ unfilled: "", placed: "x11 b13" });
    expect(plan("a.b", "b").unfilled).toBe("b12");
    expect(plan("ab.c", "b")).toEqual({ unfilled: "", placed: "b12" });
    expect(plan("a.b", "ax")).toEqual({ unfilled: "", placed: "a11 x13" });
  });

  const users = (maxLength: number, letters: string) =>
    fc.array(fc.constantFrom(...letters), { maxLength }).map((all) => all.join(""));
  const situation = [users(8, "abc."), users(5, "abcd"), fc.bigInt(8n, 19n)] as const;

  it("queues again from the highest down, with all of these senders above the gap", () => {
    fc.assert(
      fc.property(...situation, (lane, ready, first) => {
        const assigned = assignedOf(lane);
        const { unfilled } = planGaps(first, assigned, readyOf(ready));
        const gap = lowestFreeNonce(first, assigned);
        const senders = new Set(unfilled.map(({ sender }) => sender));
        const ofThese = assigned.filter((one) => one.waiverNonce > gap && senders.has(one.sender));
        expect(unfilled).toEqual(ofThese);
        if (unfilled.length > 0) expect(unfilled.at(-1)).toBe(assigned.at(-1));
      }),
    );
  });

  it("otherwise leaves no nonce free, and puts no submission below another of its sender", () => {
    fc.assert(
      fc.property(...situation, (lane, ready, first) => {
        const assigned = assignedOf(lane);
        const { unfilled, placed } = planGaps(first, assigned, readyOf(ready));
        fc.pre(unfilled.length === 0);
        expect(placed.map(({ submission }) => submission.id).sort()).toEqual([...ready].sort());
        const above = assigned.map(({ waiverNonce }) => waiverNonce).filter((nonce) => nonce >= first);
        const inUse = [...above, ...placed.map(({ waiverNonce }) => waiverNonce)].sort((a, b) =>
          Number(a - b),
        );
        expect(inUse).toEqual(inUse.map((_, i) => first + BigInt(i)));
        for (const { submission, waiverNonce } of placed) {
          const { sender } = submission;
          const later = assigned.filter(
            (one) => bytesEqual(one.sender, sender) && one.waiverNonce > waiverNonce,
          );
          expect(later).toEqual([]);
        }
      }),
    );
  });
});
