import { describe, expect, it } from "vitest";
import type { QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import { chooseReady, type Room } from "./plan.js";

interface Row {
  /** The key of all of them, or of each. */
  readonly key?: string | readonly string[];
  /** The number of its ready submissions. */
  readonly ready: number;
  /** The number of submissions in flight, of one place each. */
  readonly inFlight?: number;
  /** The places that each of its submissions takes. */
  readonly slots?: number;
  /** The number of wrappers of all of them, or of each. */
  readonly signings?: number | readonly number[];
  /** The id of each; without it, all have the index of the row. */
  readonly ids?: readonly string[];
  /** The position of each; without it, they follow each other. */
  readonly positions?: readonly number[];
}

const ofEach = <T>(values: T | readonly T[], i: number) =>
  Array.isArray(values) ? (values[i] as T) : (values as T);

const retriesOf = (mostNow: number, ids: readonly string[]) => ({
  mostNow,
  isRetry: (id: string) => ids.includes(id),
});
const ROOM: Room = {
  ...{ all: 1_000, ofSender: 1_000, ofKey: 1_000, maxInFlight: 1_000 },
  retries: retriesOf(0, []),
  isStruck: ({ strikes }) => strikes > 0,
  isPreferred: () => false,
  mostStruck: 1,
};

/** Chooses among senders with these rows, which are read one after the other. */
function choose(
  rows: readonly Row[],
  changes: Partial<Room> = {},
  inFlightOfKeys: Record<string, number> = {},
) {
  let position = 0;
  const senders = rows.map(
    ({ key = "key", ready, inFlight = 0, slots = 1, signings = 0, ids, positions }, i) => ({
      sender: new Uint8Array(20).fill(i),
      queued: Array.from(
        { length: ready },
        (_, nonce): QueuedSubmission => ({
          ...{
            id: ids?.[nonce] ?? `${i}`,
            keyId: ofEach(key, nonce),
            innerRaw: new Uint8Array(),
            innerHash: new Uint8Array(32),
          },
          ...{ sender: new Uint8Array(20).fill(i), senderNonce: BigInt(inFlight + nonce) },
          ...{ signings: ofEach(signings, nonce), position: positions?.[nonce] ?? position++ },
          ...{ strikes: 0, ageMs: 0, isSetAside: false, isWaiting: false, isUnreserved: false, slots },
        }),
      ),
      inFlight,
      inFlightNonces: new Set(Array.from({ length: inFlight }, (_, nonce) => BigInt(nonce))),
    }),
  );
  const plans = senders.map(({ queued }) => ({ ready: queued, late: [], early: [], failed: [] }));
  const snapshot = { senders, inFlightOfKeys: new Map(Object.entries(inFlightOfKeys)) };
  const { chosen, ...rest } = chooseReady(plans, snapshot, { ...ROOM, ...changes });
  return { counts: rows.map((_, i) => chosen.filter(({ id }) => id === `${i}`).length), chosen, ...rest };
}

describe("the places in flight", () => {
  it("are not all for one sender: others of its key find some, and so do other keys", () => {
    const rows = [{ ready: 1_000 }, { ready: 1_000 }, { key: "other", ready: 1_000 }];
    expect(choose(rows).counts).toEqual([950, 25, 25]);
  });

  it("that a sender and a key have already count as theirs", () => {
    const rows = [
      { ready: 100, inFlight: 940 },
      { ready: 100, inFlight: 30 },
    ];
    expect(choose(rows, { all: 30 }, { key: 970 }).counts).toEqual([5, 0]);
    expect(choose(rows.slice(1), { all: 30 }, { key: 970 }).counts).toEqual([5]);
  });

  it("of a sender go on to its share, whoever else has none", () => {
    expect(choose([{ ready: 100, inFlight: 940 }]).counts).toEqual([10]);
    expect(choose([{ ready: 5, inFlight: 950 }]).counts).toEqual([0]);
    expect(choose([{ ready: 20, inFlight: 960 }]).counts).toEqual([0]);
  });

  it("that a key lacks are not passed over by the same sender's later nonces under another key", () => {
    const rows = [
      { key: ["full", "free"], ready: 2 },
      { key: "free", ready: 1 },
    ];
    const { counts, hasMore } = choose(rows, {}, { full: 975 });
    expect(counts).toEqual([0, 1]);
    expect(hasMore).toBe(true);
  });

  it("are by gas: a key of large submissions has as many blocks in flight as one of small ones, and others find room", () => {
    const rows = [
      { ready: 100, slots: 25 },
      { ready: 100, slots: 25 },
      { key: "other", ready: 100 },
    ];
    expect(choose(rows).counts).toEqual([38, 1, 25]);
    expect(choose(rows.slice(0, 1), { all: 60 }, { key: 925 }).counts).toEqual([2]);
    expect(choose(rows.slice(0, 1), { all: 60 }, { key: 970 }).counts).toEqual([0]);
  });

  it("are enough for one submission of a party that has none, however large it is", () => {
    const rows = [
      { ready: 2, slots: 5_000 },
      { key: "other", ready: 2, slots: 30 },
    ];
    expect(choose(rows, { ofKey: 16 }).counts).toEqual([1, 0]);
    expect(choose(rows.slice(1), { ofKey: 16 }).counts).toEqual([1]);
  });

  it("are all for one sender in a lane that has few", () => {
    expect(choose([{ ready: 10 }], { maxInFlight: 10 }).counts).toEqual([10]);
  });
});

describe("the choice of a step", () => {
  it("has submissions that were signed before behind all others", () => {
    const { chosen } = choose([{ ready: 1, signings: 1 }, { ready: 2 }]);
    expect(chosen.map(({ id }) => id)).toEqual(["1", "1", "0"]);
  });

  it("has the submissions of several senders in their order", () => {
    const rows = [
      { ready: 2, ids: ["a0", "a1"], positions: [1, 4] },
      { ready: 2, ids: ["b0", "b1"], positions: [2, 3] },
      { ready: 1, ids: ["c0"], positions: [0] },
    ];
    expect(choose(rows).chosen.map(({ id }) => id)).toEqual(["c0", "a0", "b0", "b1", "a1"]);
  });

  it("has a sender behind the others for one submission that was signed before, or is a retry", () => {
    const rows = [
      { ready: 2, ids: ["a0", "a1"] },
      { ready: 2, ids: ["b0", "b1"], signings: [0, 1] },
      { ready: 1, ids: ["c0"] },
    ];
    const retries = retriesOf(10, ["a1"]);
    expect(choose(rows, { retries }).chosen.map(({ id }) => id)).toEqual(["c0", "b0", "b1", "a0", "a1"]);
  });

  it("has retries last, no more than the lane tries now, and counts the others of them as nothing more", () => {
    const rows = [
      { ready: 2, signings: 1 },
      { ready: 3, signings: 2 },
      { ready: 1, signings: 1 },
      { ready: 2 },
    ];
    const withRetries = (mostNow: number, all = 1_000) =>
      choose(rows, { all, retries: retriesOf(mostNow, ["0", "1"]) });
    expect(withRetries(3).chosen.map(({ id }) => id)).toEqual(["3", "3", "2", "0", "0", "1"]);
    expect(withRetries(3)).toMatchObject({ hasMore: false });
    expect(withRetries(0)).toMatchObject({ counts: [0, 0, 1, 2], hasMore: false });
    expect(withRetries(3, 4)).toMatchObject({ counts: [1, 0, 1, 2], hasMore: true });
  });

  it("has no more of each sender and of each key than its share, and tells that there is more", () => {
    const rows = [{ ready: 17 }, { ready: 1 }, { key: "other", ready: 9 }];
    expect(choose(rows, { ofSender: 16 })).toMatchObject({ counts: [16, 1, 9], hasMore: true });
    expect(choose(rows, { ofKey: 8 })).toMatchObject({ counts: [8, 0, 8], hasMore: true });
    expect(choose(rows, { ofSender: 17, ofKey: 18 })).toMatchObject({ counts: [17, 1, 9], hasMore: false });
  });
});
