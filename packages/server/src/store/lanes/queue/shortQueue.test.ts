import fc from "fast-check";
import { expect, it } from "vitest";
import { bytes, createHeldLane, newSubmissionOf } from "../../../../test/support/submissions.js";
import { useTestStore } from "../../../../test/support/testStore.js";
import { accept } from "../../accept/accept.js";
import { inTransaction } from "../../database/transaction.js";
import type { Queryable, Store } from "../../store.js";
import type { HeldLane } from "../heldLane.js";
import { readLaneSnapshot } from "./laneSnapshot.js";
import { readShortQueue } from "./shortQueue.js";

let store: Store;
let lane: HeldLane;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

const LIMITS = { ready: 100, due: 10, placesOfSender: 1_000 };

interface Row {
  readonly keyId: string;
  readonly user: number;
  readonly nonce: number;
  readonly state: "queued" | "waiting" | "signed" | "broadcast" | "included";
  /** The time of its turn, or of the end of its pause, in seconds from now. */
  readonly lookAt: number;
  readonly signings: number;
}

/** Puts these submissions into an empty lane. */
async function put(pool: Queryable, rows: readonly Row[]): Promise<void> {
  await pool.query("delete from unfinished");
  const submissions = rows.map(({ user, nonce, keyId }) => ({ ...newSubmissionOf(user, nonce), keyId }));
  await accept({ pool }, { chain: lane.chain, origin: lane.owner }, submissions);
  for (const [i, { state, lookAt, signings }] of rows.entries()) {
    const inFlight = state !== "queued" && state !== "waiting";
    await pool.query(
      `update unfinished set look_at = now() + $2 * interval '1 second', is_waiting = $3, signings = $4,
         state = $5, waiver_nonce = $6, wrapper_raw = $7, wrapper_hash = $7, block_number = $8 where id = $1`,
      [
        ...[submissions[i]?.id, lookAt, state === "waiting", signings, inFlight ? state : "queued"],
        ...[inFlight ? i : null, inFlight ? bytes(32, i) : null, state === "included" ? 5 : null],
      ],
    );
  }
}

const anyRow = fc.record({
  keyId: fc.constantFrom("a", "b"),
  user: fc.integer({ min: 1, max: 3 }),
  nonce: fc.integer({ min: 0, max: 4 }),
  state: fc.constantFrom("queued", "queued", "waiting", "signed", "broadcast", "included" as const),
  lookAt: fc.constantFrom(-2, -1, 0, 10, 90),
  signings: fc.integer({ min: 0, max: 1 }),
});
const anyRows = fc.uniqueArray(anyRow, { maxLength: 10, selector: ({ user, nonce }) => `${user} ${nonce}` });
const anyLimits = fc.record({
  ready: fc.integer({ min: 1, max: 10 }),
  readyOfKey: fc.integer({ min: 1, max: 10 }),
  due: fc.integer({ min: 0, max: 3 }),
  ofSender: fc.constant(8),
  placesOfSender: fc.constantFrom(4, 1_000),
});

const isQueued = ({ state }: Row) => state === "queued" || state === "waiting";

it("shows what the snapshot of a long queue shows, up to eight submissions", async () => {
  await fc.assert(
    fc.asyncProperty(anyRows, anyLimits, async (rows, limits) => {
      // All times are those of one moment.
      await inTransaction(store, async (pool) => {
        await put(pool, rows);
        const short = await readShortQueue({ ...store, pool } as never, lane, limits);
        const queued = rows.filter(isQueued).length;
        const inFlight = rows.filter(({ state }) => state === "signed" || state === "broadcast").length;
        if (queued > 8 || inFlight + queued > limits.placesOfSender) {
          expect(short).toBeUndefined();
          return;
        }
        const long = await readLaneSnapshot({ ...store, pool } as never, lane, limits);
        const isWhole = queued === long.senders.flatMap((sender) => sender.queued).length;
        // That one counts them as soon as a full step could take the last places.
        const inFlightOfKeys = short?.inFlightOfKeys;
        expect(short).toEqual({ ...long, isWhole, inFlightOfKeys });
      });
    }),
    { numRuns: 40 },
  );
});

it("is not shown while a submission of the same sender is below the queue's floor", async () => {
  const row = { keyId: "a", user: 1, nonce: 0, state: "queued", lookAt: -60, signings: 0 } as const;
  await put(store.pool, [row, { ...row, nonce: 1, lookAt: 0 }, { ...row, user: 2, lookAt: 0 }]);
  const limits = { ...LIMITS, queueFloor: new Date(Date.now() - 30_000) };
  expect(await readShortQueue(store, lane, limits)).toBeUndefined();
  await put(store.pool, [row, { ...row, user: 2, lookAt: 0 }]);
  expect((await readShortQueue(store, lane, limits))?.senders).toHaveLength(1);
});
