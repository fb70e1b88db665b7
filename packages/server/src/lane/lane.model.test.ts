// The lane's transitions, held against a model: fast-check makes lists of events (laneModelEvents.ts), each list is one
// run (laneModel.ts), and after every event the laws below must hold. A list that breaks a law is shortened.
import { bytesToHex } from "@gas-waiver/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashOfRow, LaneModel, type ModelRun } from "../../test/support/laneModel.js";
import { EVENT, type Event, EXAMPLES, MAX_REORG, RESTORED } from "../../test/support/laneModelEvents.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

const BLAMELESS = { state: "open", reason: null, foreign_uses: 0 };

/** The laws that hold after every event. */
async function assertLaws(model: LaneModel): Promise<void> {
  const { executed } = model.chain;
  expect(new Set(executed).size, "an InnerTx ran twice").toBe(executed.length);
  // A chain that has lost final blocks contradicts what they had proven.
  if (model.isRestored) return;
  const rows = await model.rows();
  for (const isFinished of [false, true]) {
    // An earlier wrapper may have carried a finished one, whose nonce a later submission got: that one is reconciled next.
    const held = rows
      .filter(({ state, finished_at }) => state !== "failed" && (finished_at !== null) === isFinished)
      .flatMap(({ waiver, held_nonce }) =>
        held_nonce === null ? [] : `${held_nonce} of ${bytesToHex(waiver)}`,
      );
    expect(new Set(held).size, "a waiver nonce is given twice").toBe(held.length);
  }
  expect(model.gaps, "a wrapper is signed above a nonce that has none").toEqual([]);
  const ran = new Set(executed);
  const failed = rows.filter(({ state }) => state === "failed");
  const alive = new Set(rows.filter(({ state }) => state !== "failed").map(hashOfRow));
  const wrong = failed.filter((row) => ran.has(hashOfRow(row)) && !alive.has(hashOfRow(row)));
  expect(wrong, "failed, and ran").toEqual([]);
  // A reorg may have taken away those that are not final.
  const included = rows.filter(({ state, finished_at }) => state === "included" && finished_at !== null);
  expect(
    included.filter((row) => !ran.has(hashOfRow(row))),
    "included, and did not run",
  ).toEqual([]);
}

describe.each(["strict", "queued"] as const)("a lane on a node with a %s pool", (pool) => {
  it(
    "executes each InnerTx at most once, gives no nonce twice, is fenced, and ends everything after the accidents",
    async () => {
      let offersTaken = 0;
      const check = async (run: Omit<ModelRun, "pool">, events: readonly Event[]) => {
        const model = await LaneModel.start(store, { pool, ...run });
        for (const event of events) {
          await model.happen(event);
          await assertLaws(model);
        }
        offersTaken += model.offersTaken;
        const healed = await model.heal();
        await assertLaws(model);
        for (const lane of await model.lanes())
          expect(lane, "the lane blames others for its own wrappers").toEqual(BLAMELESS);
        const rows = await model.rows();
        expect(healed, `not everything ended: ${JSON.stringify(rows)}`).toBe(true);
        const failedAfterBroadcast = rows.filter(
          ({ id, state }) => state === "failed" && model.publishedStates.get(id)?.has("broadcast"),
        );
        // A node may later refuse what it has taken, and a user may spend the nonce. Nothing else undoes a broadcast.
        const undone = events.some(({ kind }) => kind === "refuse" || kind === "spend") || model.isRestored;
        if (!undone)
          expect(failedAfterBroadcast, "failed after the lane had published broadcast").toEqual([]);
        if (model.isRestored) return;
        const counted = rows.filter(({ state }) => state === "included").map(hashOfRow);
        expect(counted.sort()).toEqual([...model.chain.executed].sort());
      };
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            reorgDepth: fc.constantFrom(0, MAX_REORG),
            mayBeRestored: fc.constantFrom(false, false, false, true),
            lanes: fc.constantFrom(1, 2),
          }),
          fc.array(EVENT, { minLength: 5, maxLength: 40, size: "max" }),
          check,
        ),
        PARAMETERS,
      );
      expect(offersTaken, "no submission was accepted and signed in one write").toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  it("stops where the chain has lost final blocks, and ends everything once it is opened", async () => {
    const model = await LaneModel.start(store, { pool, reorgDepth: 0, mayBeRestored: true, lanes: 1 });
    for (const event of RESTORED) await model.happen(event);
    expect(await model.heal()).toBe(true);
    expect(model.openings).toBe(1);
    expect(await model.lanes()).toEqual([BLAMELESS]);
  });
});

/** Set MODEL_RUNS=2000 MODEL_SEED=7 for a longer search with another seed. */
const { MODEL_RUNS = "18", MODEL_SEED = "1" } = process.env;
const TIMEOUT_MS = 600_000 + Number(MODEL_RUNS) * 1_500;
const PARAMETERS = {
  seed: Number(MODEL_SEED),
  numRuns: Number(MODEL_RUNS),
  examples: EXAMPLES.map(([events]): [Omit<ModelRun, "pool">, Event[]] => [
    { reorgDepth: 0, mayBeRestored: false, lanes: 2 },
    events,
  ]),
  endOnFailure: false,
};
