// Operators' look-ups across API keys. They read no partition of outcomes as a whole.
import { expect, it } from "vitest";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Statement } from "../database/database.js";
import type { HeldLane } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { saveRequeued } from "../transitions/saveRequeued.js";
import { findByHash, findById, findBySender, findByWrapperPlace, findStuck } from "./findNamed.js";

let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

it("finds submissions of every key and state by id, hash, wrapper and sender, the newest first", async () => {
  const states = ["queued", "signed", "broadcast", "included", "failed", "failed"] as const;
  const created = [];
  for (const [i, state] of states.entries()) {
    const submission = { ...newSubmissionOf(1, i), keyId: `key ${i}` };
    await createSubmission(state, store, lane, submission, BigInt(i));
    created.push(submission);
  }
  const [first] = created;
  if (first === undefined) throw new Error("none was created");
  const ofSender = await findBySender(store, lane.chain, first.sender);
  expect(ofSender.map(({ submission: { id } }) => id)).toEqual(created.map(({ id }) => id).reverse());
  for (const [i, { id, innerHash, keyId }] of created.entries()) {
    for (const found of [await findById(store, id), await findByHash(store, lane.chain, innerHash)])
      expect(found).toMatchObject([{ submission: { id, keyId, state: states[i] } }]);
    const [{ submission } = {}] = await findById(store, id);
    if (submission === undefined || !("wrapperHash" in submission) || submission.wrapperHash === undefined)
      continue;
    const place = { waiver: lane.waiver, nonce: submission.waiverNonce ?? 0n };
    expect(await findByWrapperPlace(store, lane.chain, place)).toMatchObject([{ submission: { id } }]);
    if (submission.state !== "signed" && submission.state !== "broadcast") continue;
    const byWrapper = await findByHash(store, lane.chain, submission.wrapperHash);
    expect(byWrapper.map((one) => one.submission.id)).toContain(id);
  }
  const stuck = await findStuck(store, lane.chain, { olderThanMs: 0, limit: 2 });
  expect(stuck.map(({ submission: { id } }) => id)).toEqual(created.slice(0, 2).map(({ id }) => id));
  expect(await findStuck(store, lane.chain, { olderThanMs: 60_000, limit: 2 })).toEqual([]);
});

it("has the words of the node that last did not take a submission, without what PostgreSQL refuses", async () => {
  const submission = newSubmissionOf(2, 0);
  const signed = await createSubmission("signed", store, lane, submission, 20n);
  expect(signed).toBeDefined();
  const nodeSaid = new Map([[submission.id, `busy\0 ${"x".repeat(1_000)}`]]);
  await saveRequeued(store, lane, [submission.id], { afterMs: 1_000, isOpen: false, nodeSaid });
  const [found] = await findById(store, submission.id);
  expect(found?.nodeSaid).toBe(`busy ${"x".repeat(495)}`);
});

it("reads no partition whole: every look-up of outcomes goes along an index", async () => {
  const plans: string[] = [];
  const pool = {
    query: async (statement: Statement | string, values?: readonly unknown[]) => {
      const { text, values: own = [] } =
        typeof statement === "string" ? { text: statement, values } : statement;
      const { rows } = await store.pool.query<{ "QUERY PLAN": string }>({
        text: `explain ${text}`,
        values: [...(own ?? [])],
      });
      plans.push(...rows.map((row) => row["QUERY PLAN"]));
      return store.pool.query({ text, values: [...(own ?? [])] });
    },
  };
  const counting = { pool } as unknown as Store;
  const hash = newSubmissionOf(1, 5).innerHash;
  await findByHash(counting, lane.chain, hash);
  await findBySender(counting, lane.chain, newSubmissionOf(1, 0).sender);
  await findByWrapperPlace(counting, lane.chain, { waiver: lane.waiver, nonce: 3n });
  expect(plans.filter((line) => line.includes("Scan")).length).toBeGreaterThan(6);
  expect(plans.filter((line) => line.includes("Seq Scan on finished"))).toEqual([]);
});
