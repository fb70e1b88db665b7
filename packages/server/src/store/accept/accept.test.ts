import { bytesToHex } from "@gas-waiver/protocol";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  TRANSITION_TO,
} from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { HeldLane } from "../lanes/heldLane.js";
import { openStore, type Queryable, type Store } from "../store.js";
import { saveIncluded } from "../transitions/saveIncluded.js";
import { type AcceptPlace, accept as acceptIn } from "./accept.js";
import type { Acceptance, NewSubmission } from "./newSubmission.js";

let databaseUrl: string;
let store: Store;
let lane: HeldLane;
let place: { chain: number; origin: string };
useTestStore("emptied", async (opened, url) => {
  store = opened;
  databaseUrl = url;
  lane = await createHeldLane(store);
  place = { chain: lane.chain, origin: lane.owner };
});

/** Accepts in a write that is not repeated, unless the test says so. */
const accept = (
  db: { readonly pool: Queryable },
  at: AcceptPlace,
  newSubmissions: readonly NewSubmission[],
  isRepeated = false,
) => acceptIn(db, at, newSubmissions, isRepeated);

/** The same InnerTx with a new id, as a client sends it again. */
const resubmitted = (newSubmission: NewSubmission): NewSubmission => ({ ...newSubmission, id: uuidv7() });

/** The kind of each answer, with the id of the other submission for `known` and `conflict`. */
function summaries(acceptances: readonly Acceptance[]): string[] {
  return acceptances.map((a) => {
    if (a.kind === "accepted") return a.kind;
    if (a.kind === "capped") return a.kind;
    return `${a.kind} ${a.kind === "known" ? a.submission.id : a.with.id}`;
  });
}

const inclusionOf = (id: string) => ({
  ...{ id, blockNumber: 5n, blockHash: bytes(32, 4), gasUsed: 50_000n },
  ...{ reverted: false, carriedBy: "own" as const },
});

const countRows = async () => (await store.pool.query("select from submissions")).rowCount;

describe("accepting", () => {
  it("accepts each InnerTx once, also if it is in the batch twice (D18)", async () => {
    const first = newSubmissionOf(1);
    const other = newSubmissionOf(2);
    const answers = await accept(store, place, [first, resubmitted(first), other]);
    expect(summaries(answers)).toEqual(["accepted", `known ${first.id}`, "accepted"]);
    expect(await countRows()).toBe(2);
  });

  it.each(["queued", "signed", "broadcast", "included"] as const)(
    "knows an InnerTx that is %s",
    async (state) => {
      const newSubmission = newSubmissionOf(1);
      const id = await createSubmission(state, store, lane, newSubmission);
      const [answer] = await accept(store, place, [resubmitted(newSubmission)]);
      expect(answer).toMatchObject({ kind: "known", submission: { id, state } });
    },
  );

  it("recognizes an InnerTx that is finally included", async () => {
    const id = await createSubmission("broadcast", store, lane, newSubmissionOf(1));
    await saveIncluded(store, lane, [inclusionOf(id)], true);
    expect((await store.pool.query("select from unfinished")).rowCount).toBe(0);
    const [answer] = await accept(store, place, [resubmitted(newSubmissionOf(1))]);
    expect(answer).toMatchObject({ kind: "known", submission: { id, state: "included" } });
    const [other] = await accept(store, place, [newSubmissionOf(1, 0, { gasLimit: 90_000n })]);
    expect(other).toMatchObject({ kind: "conflict", with: { id } });
  });

  it("recognizes an InnerTx that becomes finally included during the write", async () => {
    const id = await createSubmission("broadcast", store, lane, newSubmissionOf(1));
    const client = await store.pool.connect();
    await client.query("begin");
    await saveIncluded({ ...store, pool: client as never }, lane, [inclusionOf(id)], true);
    const writing = accept(store, place, [resubmitted(newSubmissionOf(1))]);
    // The accept write waits for the row that moves from one table to the other.
    let waits = 0;
    for (let attempt = 0; waits === 0 && attempt < 10_000; attempt++) {
      const waiting = await store.pool.query("select from pg_stat_activity where wait_event_type = 'Lock'");
      waits = waiting.rowCount ?? 0;
    }
    expect(waits).toBe(1);
    await client.query("commit");
    client.release();
    expect(summaries(await writing)).toEqual([`known ${id}`]);
    expect(await countRows()).toBe(1);
  });

  it("reports a submission as accepted again when its write is repeated, even if the submission has failed since", async () => {
    const newSubmission = newSubmissionOf(1);
    const id = await createSubmission("failed", store, lane, newSubmission);
    expect(summaries(await accept(store, place, [newSubmission], true))).toEqual(["accepted"]);
    expect(await store.pool.query("select id, state from submissions")).toMatchObject({
      rows: [{ id, state: "failed" }],
    });
  });

  it("accepts an InnerTx again after it has failed, under a new id (D18)", async () => {
    const newSubmission = newSubmissionOf(1);
    const failed = await createSubmission("failed", store, lane, newSubmission);
    const retry = resubmitted(newSubmission);
    expect(summaries(await accept(store, place, [retry]))).toEqual(["accepted"]);
    expect(summaries(await accept(store, place, [resubmitted(newSubmission)]))).toEqual([
      `known ${retry.id}`,
    ]);
    expect(retry.id).not.toBe(failed);
    expect(await countRows()).toBe(2);
  });

  it("refuses another InnerTx with the same sender and nonce; the first of a batch is accepted (D20)", async () => {
    const first = newSubmissionOf(1, 0);
    const rival = newSubmissionOf(1, 0, { gasLimit: 90_000n });
    for (const [one, two] of [
      [first, rival],
      [newSubmissionOf(2, 0, { gasLimit: 90_000n }), newSubmissionOf(2, 0)],
    ] as const) {
      const answers = await accept(store, place, [one, two, resubmitted(two)]);
      expect(summaries(answers)).toEqual(["accepted", `conflict ${one.id}`, `conflict ${one.id}`]);
    }
    await TRANSITION_TO.failed(store, lane, first.id);
    expect(summaries(await accept(store, place, [resubmitted(rival)]))).toEqual(["accepted"]);
  });

  it("stores a nonce of 2^64-2 and an InnerTx without a selector unchanged", async () => {
    const newSubmission = { ...newSubmissionOf(1), senderNonce: 2n ** 64n - 2n, selector: undefined };
    await accept(store, place, [newSubmission]);
    const [answer] = await accept(store, place, [resubmitted(newSubmission)]);
    expect(answer).toMatchObject({ kind: "known", submission: { senderNonce: 2n ** 64n - 2n } });
  });

  it("makes one submission of one InnerTx for several stores at once, in any order", async () => {
    const otherStores = await Promise.all(
      Array.from({ length: 3 }, () => openStore({ databaseUrl }, silent)),
    );
    const stores = [store, ...otherStores];
    try {
      for (let round = 0; round < 5; round++) {
        const batch = Array.from({ length: 100 }, (_, i) => newSubmissionOf(1 + round * 100 + i));
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, i) => {
            const copies = batch.map(resubmitted);
            return accept(stores[i % 4] ?? store, place, i % 2 ? copies : copies.reverse());
          }),
        );
        expect(answers.flat().filter(({ kind }) => kind === "accepted")).toHaveLength(100);
        expect(answers.flat().filter(({ kind }) => kind === "known")).toHaveLength(900);
      }
    } finally {
      await Promise.all(otherStores.map((other) => other.close()));
    }
    const { rows } = await store.pool.query<{ inner_hash: Buffer }>("select inner_hash from submissions");
    expect(new Set(rows.map((row) => bytesToHex(row.inner_hash))).size).toBe(500);
    expect(rows).toHaveLength(500);
  });
});
