import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { createHeldLane, newSubmissionOf, TRANSITION_TO } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Changes } from "../../../test/support/user.js";
import type { KeyCaps } from "../../model/keys/caller.js";
import { inTransaction } from "../database/transaction.js";
import { findDayUse, forgetOldCaps } from "../keys/capUse.js";
import type { HeldLane } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { saveFinal } from "../transitions/saveFinal.js";
import { saveIncluded } from "../transitions/saveIncluded.js";
import { createAcceptAll } from "./acceptAll.js";
import { acceptCapped, type CappedSubmission } from "./acceptCapped.js";
import type { Acceptance } from "./newSubmission.js";

let store: Store;
let lane: HeldLane;
useTestStore("emptied", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
});

const place = () => ({ chain: lane.chain, origin: lane.owner });
/** A new submission with these caps; its transfer has a gas limit of 100,000. */
const capped = (caps: KeyCaps, user: number, nonce = 0, changes: Changes = {}): CappedSubmission => ({
  ...newSubmissionOf(user, nonce, changes),
  caps,
});
const submit = (...newSubmissions: CappedSubmission[]) => acceptCapped(store, place(), newSubmissions);
/** The kind of the answer, or the cap that has no room. */
const wordOf = (acceptance: Acceptance) =>
  acceptance.kind === "capped" ? acceptance.by.cap : acceptance.kind;
const words = async (acceptances: Promise<Acceptance[]>) => (await acceptances).map(wordOf);
const used = async () => (await findDayUse(store, "key")).all;

describe("a daily cap of a key", () => {
  it("on transactions passes that number in the order of the request, and says how many are used", async () => {
    const caps = { transactions: 2 };
    const acceptances = await submit(...[1, 2, 3].map((user) => capped(caps, user)));
    expect(acceptances.map(wordOf)).toEqual(["accepted", "accepted", "transactions"]);
    expect(acceptances[2]).toMatchObject({ by: { limit: 2n, used: 2n, asked: 1n } });
    const { ends } = await findDayUse(store, "key");
    expect(acceptances[2]).toMatchObject({ by: { ends } });
    expect(ends.getTime() % 86_400_000).toBe(0);
    const { rows } = await store.pool.query("select id from submissions");
    expect(rows).toHaveLength(2);
  });

  it("on gas counts gas limits, and passes a smaller transaction behind a larger one that does not fit", async () => {
    const caps = { gas: 250_000n };
    const large = capped(caps, 1, 0, { gasLimit: 200_000n });
    const larger = capped(caps, 2, 0, { gasLimit: 60_000n });
    const small = capped(caps, 3, 0, { gasLimit: 50_000n });
    const acceptances = await submit(large, larger, small);
    expect(acceptances.map(wordOf)).toEqual(["accepted", "gas", "accepted"]);
    expect(acceptances[1]).toMatchObject({ by: { limit: 250_000n, used: 200_000n, asked: 60_000n } });
    expect(await used()).toEqual({ transactions: 2n, gas: 250_000n });
  });

  it("for each sender refuses only that sender", async () => {
    const caps = { senderTransactions: 2, senderGas: 150_000n };
    const light = { gasLimit: 50_000n };
    expect(
      await words(
        submit(
          capped(caps, 1, 0, light),
          capped(caps, 1, 1, light),
          capped(caps, 1, 2, light),
          capped(caps, 2, 0),
          capped(caps, 2, 1),
        ),
      ),
    ).toEqual(["accepted", "accepted", "senderTransactions", "accepted", "senderGas"]);
    const { senders } = await findDayUse(store, "key", [
      newSubmissionOf(1).sender,
      newSubmissionOf(2).sender,
    ]);
    expect(senders).toEqual([
      { transactions: 2n, gas: 100_000n },
      { transactions: 1n, gas: 100_000n },
    ]);
  });

  it("of 0 passes nothing, and the newest caps apply", async () => {
    expect(await words(submit(capped({ transactions: 0 }, 1)))).toEqual(["transactions"]);
    expect(await words(submit(capped({ transactions: 1 }, 1)))).toEqual(["accepted"]);
    expect(await words(submit(capped({ transactions: 1 }, 2)))).toEqual(["transactions"]);
    expect(await words(submit(capped({ transactions: 2 }, 2)))).toEqual(["accepted"]);
  });

  it("counts the same InnerTx once, whether it is sent again or written again", async () => {
    const caps = { transactions: 1 };
    const first = capped(caps, 1);
    await submit(first);
    expect(await words(submit({ ...first, id: uuidv7() }))).toEqual(["known"]);
    // A write whose answer was lost is repeated with the same id: alone, beside itself, and beside one that does not fit.
    expect(await words(submit(first))).toEqual(["accepted"]);
    await Promise.all([submit(first), submit(first)]);
    expect(await words(submit(first, capped(caps, 5)))).toEqual(["accepted", "transactions"]);
    expect(await used()).toEqual({ transactions: 1n, gas: 100_000n });
    const roomy = capped({ transactions: 2 }, 6);
    await Promise.all([submit(roomy), submit(roomy), submit(roomy)]);
    expect(await used()).toEqual({ transactions: 2n, gas: 200_000n });
    // In one request the second is tried after the first is refused, and so it is not `known`.
    const other = capped(caps, 2);
    expect(await words(submit(other, { ...other, id: uuidv7() }))).toEqual(["transactions", "transactions"]);
  });

  it("that refuses a transaction passes the next one of the same sender and nonce that fits", async () => {
    const caps = { gas: 250_000n };
    const of = (gasLimit: bigint, user = 1) => capped(caps, user, 0, { gasLimit });
    const acceptances = await submit(of(300_000n), of(260_000n), of(90_000n), of(80_000n), of(100_000n, 2));
    expect(acceptances.map(wordOf)).toEqual(["gas", "gas", "accepted", "conflict", "accepted"]);
    expect(acceptances[1]).toMatchObject({ by: { limit: 250_000n, used: 0n, asked: 260_000n } });
    expect(await used()).toEqual({ transactions: 2n, gas: 190_000n });
    // 60,000 gas are left. The second would fit, but a later write tries it, when the third has been accepted.
    expect(await words(submit(of(70_000n, 3), of(60_000n, 3), of(50_000n, 4)))).toEqual([
      "gas",
      "gas",
      "accepted",
    ]);
  });

  it("does not count the submissions of keys without caps", async () => {
    const acceptAll = createAcceptAll(store, place());
    expect(await words(acceptAll([newSubmissionOf(1)]))).toEqual(["accepted"]);
    expect(await used()).toEqual({ transactions: 0n, gas: 0n });
    expect(await words(acceptAll([capped({ transactions: 1 }, 2)]))).toEqual(["accepted"]);
    expect(await words(acceptAll([{ ...capped({ transactions: 1 }, 3), keyId: "other" }]))).toEqual([
      "accepted",
    ]);
    expect(await words(acceptAll([capped({ transactions: 1 }, 4)]))).toEqual(["transactions"]);
  });
});

describe("a reservation", () => {
  const caps = { transactions: 1, gas: 100_000n };
  const settled = async (finish: (id: string) => Promise<unknown>) => {
    const first = capped(caps, 1);
    await submit(first);
    await finish(first.id);
    return used();
  };
  const included = (id: string, final: boolean) => {
    const block = { blockNumber: 5n, blockHash: new Uint8Array(32), gasUsed: 40_000n };
    return saveIncluded(store, lane, [{ id, ...block, reverted: true, carriedBy: "own" }], final);
  };

  it("is released when the submission fails", async () => {
    expect(await settled((id) => TRANSITION_TO.failed(store, lane, id))).toEqual({
      transactions: 0n,
      gas: 0n,
    });
    expect(await words(submit(capped(caps, 2), capped(caps, 3)))).toEqual(["accepted", "transactions"]);
    expect(await used()).toEqual({ transactions: 1n, gas: 100_000n });
  });

  it("becomes the used gas when the block is final, also if the InnerTx reverted", async () => {
    expect(await settled((id) => included(id, true))).toEqual({ transactions: 1n, gas: 40_000n });
    const roomy = { transactions: 2, gas: 140_000n };
    expect(await words(submit(capped(roomy, 2), capped(roomy, 3)))).toEqual(["accepted", "transactions"]);
  });

  it("stays as long as a reorg can remove the block", async () => {
    const first = capped(caps, 1);
    await submit(first);
    await included(first.id, false);
    expect(await used()).toEqual({ transactions: 1n, gas: 100_000n });
    await saveFinal(store, lane, [first.id]);
    expect(await used()).toEqual({ transactions: 1n, gas: 40_000n });
  });

  it("of another day counts for that day", async () => {
    await settled(async () => {});
    await store.pool.query("update unfinished set cap_day = cap_day - 1");
    for (const table of ["cap_usage", "cap_reserved"])
      await store.pool.query(`update ${table} set day = day - 1`);
    expect(await words(submit(capped(caps, 2)))).toEqual(["accepted"]);
    const { rows } = await store.pool.query<{ id: string }>(
      "select id from unfinished where key_id = 'key' order by id",
    );
    await TRANSITION_TO.failed(store, lane, rows[0]?.id ?? "");
    expect(await words(submit(capped(caps, 3)))).toEqual(["transactions"]);
  });

  it("is deleted some days later", async () => {
    await settled((id) => TRANSITION_TO.failed(store, lane, id));
    for (const table of ["cap_usage", "cap_outcomes", "cap_reserved"])
      await store.pool.query(`update ${table} set day = day - 8`);
    await submit(capped(caps, 2));
    await forgetOldCaps(store, new AbortController().signal);
    const { rows } = await store.pool.query(
      "select key_id from cap_usage union all select key_id from cap_outcomes union all select key_id from cap_reserved",
    );
    // Today's rows: of the key, of its sender, and what the key has reserved.
    expect(rows).toHaveLength(3);
  });
});

describe("many concurrent writes under caps", () => {
  it("pass exactly what the caps allow, and other keys do not wait for a locked key", async () => {
    const caps = { transactions: 60, senderTransactions: 3 };
    const writers = Array.from({ length: 4 }, () => createAcceptAll(store, place()));
    const writes = Array.from({ length: 40 }, (_, i) => {
      // 20 senders, five nonces each, and each of these offered by two writers.
      const [user, nonce] = [1 + ((i * 5) % 20), Math.floor(i / 4) % 5];
      const batch = [0, 1, 2, 3, 4].map((offset) => capped(caps, user + offset, nonce));
      return (writers[(i + Math.floor(i / 20)) % writers.length] ?? writers[0])?.(batch) ?? [];
    });
    const all = (await Promise.all(writes)).flat().map(wordOf);
    expect(all.filter((word) => word === "accepted")).toHaveLength(60);
    expect(await used()).toEqual({ transactions: 60n, gas: 6_000_000n });
    const { rows } = await store.pool.query(
      "select sender from unfinished group by sender having count(*) > 3",
    );
    expect(rows).toEqual([]);

    const holder = await store.pool.connect();
    await holder.query("begin; select from cap_usage where key_id = 'key' for update");
    const stuck = writers[0]?.([capped(caps, 50)]);
    const other = { ...capped(caps, 51), keyId: "other" };
    expect(await words(writers[0]?.([other]) ?? Promise.resolve([]))).toEqual(["accepted"]);
    expect(await words(writers[0]?.([newSubmissionOf(52)]) ?? Promise.resolve([]))).toEqual(["accepted"]);
    await holder.query("rollback");
    holder.release();
    expect(await words(stuck ?? Promise.resolve([]))).toEqual(["transactions"]);
  });
});

describe("a write under caps", () => {
  it("reads the use of its own senders, and not of all that the key has had in the day", async () => {
    const caps = { senderTransactions: 500 };
    await submit(capped(caps, 1));
    await store.pool.query(
      `with senders as (
         insert into cap_usage (key_id, day, sender, transactions, gas)
         select 'key', (now() at time zone 'UTC')::date, decode(lpad(to_hex(i), 40, '0'), 'hex'), 1, 1
         from generate_series(1, 2000) i returning day, sender
       )
       insert into cap_outcomes (key_id, day, sender, transactions, gas)
       select 'key', day, sender, 0, 0 from senders limit 100`,
    );
    const read = await inTransaction(store, async (pool) => {
      await acceptCapped(
        { pool },
        place(),
        Array.from({ length: 50 }, (_, i) => capped(caps, i + 2)),
      );
      const { rows } = await pool.query<{ read: string }>(
        `select sum(seq_tup_read + idx_tup_fetch) as read from pg_stat_xact_user_tables where relname = 'cap_usage'`,
      );
      return Number(rows[0]?.read);
    });
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(1_000);
    expect(await used()).toEqual({ transactions: 51n, gas: 5_100_000n });
  });

  it("takes in outcomes once a second, or when a cap has no room otherwise, and is exact in between", async () => {
    const caps = { transactions: 4 };
    /** Returns the count of the key's row, and the number of outcomes that it has not taken in. */
    const summed = async () => {
      const { rows } = await store.pool.query(
        `select (select transactions::int from cap_usage where sender = '') as counted,
                (select count(*)::int from cap_outcomes) as outcomes`,
      );
      return rows[0];
    };
    const [first, second] = [capped(caps, 1), capped(caps, 2)];
    await submit(first);
    await store.pool.query("update cap_usage set sum_at = now() + interval '1 hour'");
    await TRANSITION_TO.failed(store, lane, first.id);
    await submit(second);
    expect(await summed()).toEqual({ counted: 1, outcomes: 1 });
    expect(await used()).toEqual({ transactions: 1n, gas: 100_000n });
    await store.pool.query("update cap_usage set sum_at = now()");
    await submit(capped(caps, 3));
    expect(await summed()).toEqual({ counted: 2, outcomes: 0 });
    expect(await used()).toEqual({ transactions: 2n, gas: 200_000n });
    await store.pool.query("update cap_usage set sum_at = now() + interval '1 hour'");
    await TRANSITION_TO.failed(store, lane, second.id);
    const three = [4, 5, 6].map((user) => capped(caps, user));
    expect(await words(submit(...three))).toEqual(Array(3).fill("accepted"));
    expect(await summed()).toEqual({ counted: 4, outcomes: 0 });
    expect(await words(submit(capped(caps, 7)))).toEqual(["transactions"]);
    expect(await used()).toEqual({ transactions: 4n, gas: 400_000n });
  });
});
