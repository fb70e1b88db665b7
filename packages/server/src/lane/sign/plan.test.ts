import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import { planSender } from "./plan.js";

const GAP_MS = 10_000;
const NONE: ReadonlySet<bigint> = new Set();

function submission(senderNonce: bigint, ageMs = 0): QueuedSubmission {
  return {
    id: `s${senderNonce}`,
    keyId: "key",
    innerRaw: new Uint8Array(),
    sender: new Uint8Array(20),
    innerHash: new Uint8Array(32),
    senderNonce,
    signings: 0,
    strikes: 0,
    position: Number(senderNonce),
    ageMs,
    isSetAside: false,
    isWaiting: false,
    isUnreserved: false,
    slots: 1,
  };
}

/** The queue of one sender (different nonces, ascending, of any age), and the account's next nonce. */
const situation = fc.record({
  queued: fc
    .uniqueArray(fc.tuple(fc.bigInt(0n, 30n), fc.nat(2 * GAP_MS)), { selector: ([nonce]) => nonce })
    .map((all) => all.sort(([a], [b]) => Number(a - b)).map(([nonce, age]) => submission(nonce, age))),
  next: fc.bigInt(0n, 30n),
});

describe("the plan of a sender (D20)", () => {
  it("has each submission in exactly one list", () => {
    fc.assert(
      fc.property(situation, ({ queued, next }) => {
        const { ready, late, early, failed } = planSender(queued, next, NONE, GAP_MS);
        const planned = [...ready, ...late, ...early, ...failed.map((gap) => gap.submission)].map(
          ({ id }) => id,
        );
        expect(planned.sort()).toEqual(queued.map(({ id }) => id).sort());
      }),
    );
  });

  it("sends from the next nonce on, in order, and skips none", () => {
    fc.assert(
      fc.property(situation, ({ queued, next }) => {
        const { ready } = planSender(queued, next, NONE, GAP_MS);
        expect(ready.map((s) => s.senderNonce)).toEqual(ready.map((_, i) => next + BigInt(i)));
      }),
    );
  });

  it("calls nonces below the next one late, and fails those that waited too long for their predecessor", () => {
    fc.assert(
      fc.property(situation, ({ queued, next }) => {
        const { ready, late, early, failed } = planSender(queued, next, NONE, GAP_MS);
        const turn = next + BigInt(ready.length);
        for (const s of queued) {
          const hasFailed = failed.some(({ submission }) => submission === s);
          expect(late.includes(s)).toBe(s.senderNonce < next);
          expect(hasFailed).toBe(s.senderNonce >= turn && s.ageMs >= GAP_MS);
        }
        expect(early.every((s) => s.senderNonce > turn && s.ageMs < GAP_MS)).toBe(true);
      }),
    );
  });

  it("skips nonces in flight, and sends those before them that were queued again", () => {
    const queued = [3n, 5n, 8n, 10n].map((nonce) => submission(nonce));
    const { ready, early, failed } = planSender(queued, 3n, new Set([4n, 6n, 7n, 20n]), GAP_MS);
    expect(ready.map((s) => s.senderNonce)).toEqual([3n, 5n, 8n]);
    expect(early.map((s) => s.senderNonce)).toEqual([10n]);
    expect(failed).toEqual([]);
  });

  it("keeps what is behind a submission in its pause waiting, however long that takes", () => {
    const paused = { ...submission(4n, GAP_MS), isSetAside: true };
    const queued = [submission(3n), paused, submission(5n, GAP_MS), submission(7n, GAP_MS)];
    const { ready, early, failed, late } = planSender(queued, 3n, NONE, GAP_MS);
    expect(ready.map((s) => s.senderNonce)).toEqual([3n]);
    expect(early.map((s) => s.senderNonce)).toEqual([5n, 7n]);
    expect([...failed, ...late]).toEqual([]);
  });

  it("fails a submission in its pause like any other whose predecessor is missing", () => {
    const paused = { ...submission(4n, GAP_MS), isSetAside: true };
    const { failed } = planSender([paused, submission(5n, GAP_MS)], 3n, NONE, GAP_MS);
    expect(failed.map(({ submission: { id }, missing }) => [id, missing])).toEqual([
      ["s4", 3n],
      ["s5", 3n],
    ]);
  });

  it("has the nonce that is missing before a failure", () => {
    const { failed } = planSender([submission(9n, GAP_MS)], 5n, NONE, GAP_MS);
    expect(failed).toMatchObject([{ submission: { senderNonce: 9n }, missing: 5n }]);
  });
});
