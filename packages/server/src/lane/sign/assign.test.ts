import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { assignContext } from "../../../test/support/assignContext.js";
import { createHeldLane, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { accept } from "../../store/accept/accept.js";
import { Places } from "../../store/accept/places.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { Store } from "../../store/store.js";
import { saveRequeued } from "../../store/transitions/saveRequeued.js";
import { createLaneStatusCache } from "../choose/directory.js";
import type { LaneContext } from "../context.js";
import { assign } from "./assign.js";

let store: Store;
let lane: HeldLane;
let context: LaneContext;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
  context = assignContext(store);
});

describe("an assignment", () => {
  it("asks for another step if it saw as many submissions as its limit, and not if it saw fewer", async () => {
    const newSubmissions = [1, 2, 3, 4, 5].map((user) => newSubmissionOf(user));
    await accept(store, { chain: lane.chain, origin: randomUUID() }, newSubmissions);
    const steps = [];
    for (let i = 0; i < 4; i++) {
      const { signed, stepAgain } = await assign(lane, { limit: 2, due: 2 }, context);
      steps.push([signed.map(({ waiverNonce }) => waiverNonce), stepAgain]);
    }
    expect(steps).toEqual([
      [[0n, 1n], true],
      [[2n, 3n], true],
      [[4n], false],
      [[], false],
    ]);
  });

  it("asks for another step if it could only postpone the submissions that it saw, since others may be behind them", async () => {
    const early = [6, 7, 8].map((user) => newSubmissionOf(user, 1));
    await accept(store, { chain: lane.chain, origin: randomUUID() }, early);
    const steps = [];
    for (let i = 0; i < 3; i++) steps.push((await assign(lane, { limit: 2, due: 2 }, context)).stepAgain);
    expect(steps).toEqual([true, false, false]);
  });

  it("gives each key a share of the step while several keys use the lane, and each sender while several senders do", async () => {
    const ofKey = (keyId: string, user: number, count: number) =>
      Array.from({ length: count }, (_, nonce) => ({ ...newSubmissionOf(user, nonce), keyId }));
    const all = [...ofKey("flood", 10, 40), ...ofKey("single", 11, 1)];
    await accept(store, { chain: lane.chain, origin: randomUUID() }, all);
    const steps = [];
    for (let i = 0; i < 4; i++) {
      const { signed, stepAgain } = await assign(lane, { limit: 100, due: 0 }, context);
      steps.push([signed.length, stepAgain]);
    }
    // The first step finds out that there are two senders. The second one has nobody but the flood, but remembers.
    expect(steps).toEqual([
      [17, true],
      [16, true],
      [8, false],
      [0, false],
    ]);
  });

  it("has another sender of the key at once where a long row of one sender fills its places in flight", async () => {
    await store.pool.query("delete from unfinished");
    const long = Array.from({ length: 130 }, (_, nonce) => newSubmissionOf(30, nonce));
    for (const part of [long.slice(0, 100), long.slice(100)])
      await accept(store, { chain: lane.chain, origin: randomUUID() }, part);
    let [signedLong, last] = [0, -1];
    while (last !== 0) {
      last = (await assign(lane, { limit: 20, due: 0 }, context)).signed.length;
      signedLong += last;
    }
    // As if no block had come for a minute.
    await store.pool.query("update unfinished set look_at = look_at - interval '1 minute'");
    await createLaneStatusCache(store, lane.chain).refresh();
    const other = newSubmissionOf(31);
    const place = { chain: lane.chain, origin: randomUUID(), places: new Places(store.laneFloors) };
    await accept(store, place, [other]);
    const { signed } = await assign(lane, { limit: 20, due: 0 }, context);
    expect(signed.map(({ id }) => id)).toEqual([other.id]);
    expect(signedLong).toBe(96);
  });

  it("has what comes later behind five blocks of 30,000,000 gas, however large that is which came before", async () => {
    await store.pool.query("delete from unfinished");
    const place = { chain: lane.chain, origin: randomUUID(), places: new Places(store.laneFloors) };
    const large = Array.from({ length: 150 }, (_, nonce) =>
      newSubmissionOf(50, nonce, { gasLimit: 3_900_000n }),
    );
    await accept(store, place, large);
    const single = { ...newSubmissionOf(51), keyId: "single" };
    let ahead = 0;
    const step = async () => {
      const { signed } = await assign(lane, { limit: 198, due: 0 }, { ...context, options });
      ahead += signed.filter(({ keyId }) => keyId === "key").length;
      return signed;
    };
    const options = { ...context.options, maxInFlight: 1_000 };
    while ((await step()).length > 0);
    await accept(store, place, [single]);
    expect((await step()).map(({ id }) => id)).toEqual([single.id]);
    expect(ahead * 3_900_000).toBeGreaterThan(4 * 30_000_000);
    expect(ahead * 3_900_000).toBeLessThan(5 * 30_000_000);
  });

  it.each(["whom blocks have left out", "whom the custody does not sign"])(
    "reaches what is behind a long row of a sender %s",
    async (kind) => {
      await store.pool.query("delete from unfinished");
      const place = { chain: lane.chain, origin: randomUUID() };
      const row = Array.from({ length: 50 }, (_, nonce) => newSubmissionOf(40, nonce));
      await accept(store, place, row);
      if (kind === "whom blocks have left out") await store.pool.query("update unfinished set strikes = 1");
      const refused = new Set(kind === "whom the custody does not sign" ? row.map(({ id }) => id) : []);
      const laneSigner = Object.create(context.laneSigner, {
        isRefused: { value: (id: string) => refused.has(id) },
      });
      const other = newSubmissionOf(41);
      await accept(store, place, [other]);
      const signed = [];
      for (let i = 0; i < 4; i++)
        signed.push(...(await assign(lane, { limit: 20, due: 0 }, { ...context, laneSigner })).signed);
      expect(signed.map(({ id }) => id)).toContain(other.id);
    },
  );

  it("signs again what blocks have left out before and a node did not take, though the chain never uses its nonce", async () => {
    await store.pool.query("delete from unfinished");
    const struck = newSubmissionOf(60);
    await accept(store, { chain: lane.chain, origin: randomUUID() }, [struck]);
    await store.pool.query("update unfinished set strikes = 1");
    const next = async () => (await assign(lane, { limit: 20, due: 20 }, context)).signed.map(({ id }) => id);
    expect(await next()).toEqual([struck.id]);
    // The node expects an earlier nonce of the sender, which a reorg has taken back.
    await saveRequeued(store, lane, [struck.id], { afterMs: 0, isOpen: false });
    expect(await next()).toEqual([struck.id]);
  });
});
