import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { expect, it } from "vitest";
import {
  createHeldLane,
  newSubmissionOf,
  postpone,
  TRANSITION_TO,
} from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { termsToJson } from "../../model/keys/keyTerms.js";
import { CompetitorGoneError } from "../accept/accept.js";
import { acceptCapped } from "../accept/acceptCapped.js";
import type { HeldLane } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { expireQueued } from "../transitions/expireQueued.js";
import { putOffQueued } from "../transitions/putOffQueued.js";
import { saveFinal } from "../transitions/saveFinal.js";
import { findDayUse } from "./capUse.js";
import { reserveCaps } from "./reserveCaps.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

const KEY = "0123456789abcdef";
/** Each transaction has a gas limit of 100,000: three of one sender fit, and five in all. */
const CAPS = { transactions: 6, gas: 500_000n, senderTransactions: 3, senderGas: 400_000n };

async function createKey(origins?: readonly string[]): Promise<void> {
  const allowedTargets = [{ address: new Uint8Array(20).fill(5) }];
  const terms = { limits: {}, allowedTargets, caps: CAPS, ...(origins && { origins }) };
  await store.pool.query(
    `insert into api_keys (id, env, label, secret_hash, terms, version)
     values ($1, 'test', 'capped', sha256('key'), $2, 1)
     on conflict (id) do update set terms = excluded.terms`,
    [KEY, JSON.stringify(termsToJson(terms))],
  );
}

const submissionOf = (user: number, nonce: number) => ({
  ...newSubmissionOf(user, nonce),
  keyId: KEY,
  caps: CAPS,
});
const accept = (user: number, nonce: number) =>
  acceptCapped(store, { chain: lane.chain, origin: lane.owner }, [submissionOf(user, nonce)]);

interface Unfinished {
  readonly id: string;
  readonly sender: Buffer;
  readonly sender_nonce: string;
  readonly state: string;
  readonly is_reserved: boolean;
}

const unfinished = async (): Promise<readonly Unfinished[]> =>
  (
    await store.pool.query<Unfinished>(
      "select id, sender, sender_nonce, state, cap_day is not null as is_reserved from unfinished order by id",
    )
  ).rows;

/** The gas and number of what has run, and of what is reserved, by the submissions themselves. */
async function usedOrReserved() {
  const { rows } = await store.pool.query<{ transactions: string; gas: string }>(
    `select count(*) as transactions, coalesce(sum(gas), 0) as gas from (
       select gas_used as gas from finished where state = 'included'
       union all select cap_gas from unfinished where cap_day is not null) counted`,
  );
  return { transactions: BigInt(rows[0]?.transactions ?? 0), gas: BigInt(rows[0]?.gas ?? 0) };
}

/** The moves that accept, lanes and operators make, each on the submission that `pick` chooses. */
const MOVES = {
  accept: async (pick: number) => void (await accept(1 + (pick % 3), Math.floor(pick / 3) % 5)),
  "accept again": async (pick: number) => {
    const one = submissionOf(1 + (pick % 3), Math.floor(pick / 3) % 5);
    const { rows } = await store.pool.query<{ id: string }>(
      "select id from unfinished where inner_hash = $1",
      [one.innerHash],
    );
    const id = rows[0]?.id ?? uuidv7();
    await acceptCapped(store, { chain: lane.chain, origin: lane.owner }, [{ ...one, id }]);
  },
  postpone: (pick: number) => onOne(pick, ({ id }) => postpone(store, lane, [id], 0)),
  park: (pick: number) =>
    onOne(pick, ({ sender, sender_nonce }) =>
      putOffQueued(store, lane, [{ sender, senderNonce: BigInt(sender_nonce) }], {
        afterMs: 0,
        isAhead: true,
      }),
    ),
  "reserve two": async (pick: number) => {
    const all = await unfinished();
    const two = [all[pick % all.length], all[(pick + 1) % all.length]].flatMap((one) => one ?? []);
    const waiting = two.map(({ id }) => ({ id, keyId: KEY, gasLimit: 100_000n }));
    await reserveCaps(store, waiting);
  },
  sign: (pick: number) => onOne(pick, ({ id }) => TRANSITION_TO.signed(store, lane, id, BigInt(pick))),
  requeue: (pick: number) => onOne(pick, ({ id }) => TRANSITION_TO.queued(store, lane, id)),
  include: (pick: number) =>
    onOne(pick, async ({ id, state }) => {
      if (state === "queued") return;
      await TRANSITION_TO.included(store, lane, id);
      await saveFinal(store, lane, [id]);
    }),
  fail: (pick: number) => onOne(pick, ({ id }) => TRANSITION_TO.failed(store, lane, id)),
  expire: (pick: number) => onOne(pick, ({ id }) => expireQueued(store, [id], 0)),
} as const;

async function onOne(pick: number, move: (one: Unfinished) => Promise<unknown>): Promise<void> {
  const all = await unfinished();
  const one = all[pick % Math.max(1, all.length)];
  if (one) await move(one);
}

const drawnMoves = fc.array(
  fc.tuple(fc.constantFrom(...(Object.keys(MOVES) as (keyof typeof MOVES)[])), fc.nat({ max: 60 })),
  { minLength: 10, maxLength: 40 },
);

it("after any moves, a day's use is what has run and what may run now, within the caps, and nothing is signed unreserved", async () => {
  await createKey();
  await fc.assert(
    fc.asyncProperty(drawnMoves, async (moves) => {
      await store.pool.query(
        "truncate unfinished, finished, cap_usage, cap_outcomes, cap_reserved, withdrawn",
      );
      for (const [move, pick] of moves) {
        await MOVES[move](pick);
        const { all } = await findDayUse(store, KEY);
        expect(all).toEqual(await usedOrReserved());
        expect(all.transactions).toBeLessThanOrEqual(BigInt(CAPS.transactions));
        expect(all.gas).toBeLessThanOrEqual(CAPS.gas);
        const rows = await unfinished();
        expect(rows.filter(({ state, is_reserved }) => state !== "queued" && !is_reserved)).toEqual([]);
      }
    }),
    { seed: 32, numRuns: 20 },
  );
});

it("moves at once are as exact as one after the other", async () => {
  await createKey();
  const moves = fc.sample(drawnMoves, { seed: 32, numRuns: 6 }).flat();
  await Promise.all(moves.map(([move, pick]) => MOVES[move](pick).catch(ignoreRaces)));
  expect((await findDayUse(store, KEY)).all).toEqual(await usedOrReserved());
});

/** The waiver's nonce is another submission's by now, or what competes with an accept has just ended, so that it is repeated. */
function ignoreRaces(error: unknown): void {
  const isTaken = (error as { code?: unknown }).code === "23505";
  if (!isTaken && !(error instanceof CompetitorGoneError)) throw error;
}

it("what another's wrapper has carried counts with its gas, though it waited unreserved", async () => {
  await createKey();
  await accept(1, 1);
  const [one] = await unfinished();
  await postpone(store, lane, [one?.id ?? ""], 0);
  expect((await findDayUse(store, KEY)).all).toEqual({ transactions: 0n, gas: 0n });
  await TRANSITION_TO.included(store, lane, one?.id ?? "");
  await saveFinal(store, lane, [one?.id ?? ""]);
  expect((await findDayUse(store, KEY)).all).toEqual({ transactions: 1n, gas: 50_000n });
});

it("a submission that waits ahead of its turn leaves its part of the caps to others, until its turn comes", async () => {
  await createKey(["https://app.example.com"]);
  for (const user of [1, 2, 3, 4, 5]) await accept(user, 1);
  expect((await accept(6, 0)).map(({ kind }) => kind)).toEqual(["capped"]);
  const early = await unfinished();
  await postpone(
    store,
    lane,
    early.map(({ id }) => id),
    0,
  );
  for (const user of [6, 7]) expect((await accept(user, 0)).map(({ kind }) => kind)).toEqual(["accepted"]);

  const waiting = early.map(({ id }) => ({ id, keyId: KEY, gasLimit: 100_000n }));
  const results = await reserveCaps(store, waiting);
  expect(early.map(({ id }) => results.get(id)?.reason)).toEqual([
    ...Array(3).fill(undefined),
    ...Array(2).fill("CAP_EXCEEDED"),
  ]);
  // The key is publishable: the failure does not tell how much others have used.
  expect(Object.keys(results.get(early[4]?.id ?? "")?.values ?? {})).toEqual(["cap", "ends"]);
});

it("a session that holds the row of a key delays what waits, and nothing else", async () => {
  await createKey();
  await accept(1, 1);
  const [one] = await unfinished();
  const waiting = [{ id: one?.id ?? "", keyId: KEY, gasLimit: 100_000n }];
  await postpone(store, lane, [one?.id ?? ""], 0);
  const holder = await store.pool.connect();
  await holder.query("begin; select from cap_usage where sender = '' for update");
  expect([...(await reserveCaps(store, waiting))]).toEqual([]);
  await holder.query("rollback");
  holder.release();
  expect([...(await reserveCaps(store, waiting))]).toEqual([[one?.id, undefined]]);
});
