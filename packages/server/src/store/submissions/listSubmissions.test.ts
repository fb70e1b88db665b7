import { randomUUID } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import {
  bytes,
  createHeldLane,
  createSubmission,
  newSubmissionOf,
  TRANSITION_TO,
} from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { SubmissionState } from "../../model/submission/submission.js";
import { accept } from "../accept/accept.js";
import type { Statement } from "../database/database.js";
import type { HeldLane } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { firstIdAt, HIGHEST_ID, type ListFilter, LOWEST_ID, listSubmissions } from "./listSubmissions.js";

const STATES: readonly SubmissionState[] = ["queued", "signed", "broadcast", "included", "failed"];

let store: Store;
let lane: HeldLane;
let filter: ListFilter;
useTestStore("shared", async (opened) => {
  store = opened;
  lane = await createHeldLane(store);
  filter = {
    ...{ chain: lane.chain, keyId: "key", states: STATES, sender: undefined, innerHash: undefined },
    ...{ from: LOWEST_ID, before: HIGHEST_ID, limit: 200 },
  };
});

/** The ids on all pages, page by page. */
async function pagesOf(listFilter: ListFilter, between: () => Promise<unknown> = async () => {}) {
  const pages: string[][] = [];
  let before: string | undefined = listFilter.before;
  while (before !== undefined) {
    const page = await listSubmissions(store, { ...listFilter, before });
    pages.push(page.submissions.map(({ id }) => id));
    before = page.next;
    if (before !== undefined) await between();
  }
  return pages;
}

/** Inserts `count` rows into `finished`, the newest last. */
async function insertFinished(count: number, { keyId = "key", sender = "busy" } = {}): Promise<void> {
  await store.pool.query(
    `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, signings,
       block_number, block_hash, gas_used, reverted, error_reason, accepted_at)
     select (lpad(to_hex(1600000000000 + i), 12, '0') || '7' || substr(md5($2 || i), 1, 3) || '8' ||
              substr(md5(i || $3), 1, 15))::uuid,
       $1, $2, s.state, sha256(int8send(i)), case when i % 2 = 0 then substr(sha256($3::bytea), 1, 20)
         else substr(sha256($3::bytea || int8send(i)), 1, 20) end, i, sender, sender, 1,
       case when s.state = 'included' then 1 end, case when s.state = 'included' then sender end,
       case when s.state = 'included' then 1 end, case when s.state = 'included' then false end,
       case when s.state = 'failed' then 'NODE_REFUSED' end, now()
     from generate_series(1::bigint, $4) i, lateral (select substr(sha256('x'), 1, 20) as sender,
       case when i % 100 = 1 then 'failed' else 'included' end::submission_state as state) s`,
    [lane.chain, keyId, Buffer.from(sender).toString(), count],
  );
}

describe("a list of submissions", () => {
  it("has the submissions that match the filter, the newest first, on pages of any size", async () => {
    const rows: { id: string; state: SubmissionState; user: number; keyId: string; hash: Uint8Array }[] = [];
    for (let i = 0; i < 40; i++) {
      const user = 1 + (i % 3);
      const state = STATES[i % 5] ?? "queued";
      const newSubmission = { ...newSubmissionOf(user, i), keyId: i % 7 === 0 ? "other" : "key" };
      await createSubmission(state, store, lane, newSubmission, BigInt(i));
      rows.push({
        id: newSubmission.id,
        state,
        user,
        keyId: newSubmission.keyId,
        hash: newSubmission.innerHash,
      });
    }
    // The failed InnerTx was submitted again.
    const resubmitted = { ...newSubmissionOf(2, 4), keyId: "key" };
    await createSubmission("included", store, lane, resubmitted, 100n);
    rows.push({ id: resubmitted.id, state: "included", user: 2, keyId: "key", hash: resubmitted.innerHash });
    const ofKey = rows.filter(({ keyId }) => keyId === "key").reverse();
    const middle = ofKey[Math.floor(ofKey.length / 2)]?.id ?? "";
    const cases: [Partial<ListFilter>, (row: (typeof ofKey)[number]) => boolean][] = [
      [{}, () => true],
      ...STATES.map((state): (typeof cases)[number] => [{ states: [state] }, (row) => row.state === state]),
      [{ states: ["queued", "failed"] }, ({ state }) => state === "queued" || state === "failed"],
      [{ sender: newSubmissionOf(2).sender }, ({ user }) => user === 2],
      [
        { sender: newSubmissionOf(2).sender, states: ["failed"] },
        (row) => row.user === 2 && row.state === "failed",
      ],
      [{ innerHash: resubmitted.innerHash }, ({ hash }) => Buffer.from(hash).equals(resubmitted.innerHash)],
      [{ innerHash: resubmitted.innerHash, sender: newSubmissionOf(1).sender }, () => false],
      [{ from: middle }, ({ id }) => id >= middle],
      [{ before: middle, sender: newSubmissionOf(1).sender }, ({ id, user }) => id < middle && user === 1],
    ];
    for (const [partialFilter, isWanted] of cases) {
      const wanted = ofKey.filter(isWanted).map(({ id }) => id);
      for (const limit of [1, 3, 200]) {
        const pages = await pagesOf({ ...filter, ...partialFilter, limit });
        expect(pages.flat()).toEqual(wanted);
        expect(pages.every((page) => page.length <= limit)).toBe(true);
      }
    }
    expect((await pagesOf({ ...filter, keyId: "nobody" })).flat()).toEqual([]);
    expect((await pagesOf({ ...filter, chain: lane.chain + 1 })).flat()).toEqual([]);
  });

  it("stays correct while submissions come, move on and end between its pages", async () => {
    const keyId = "moving";
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) {
      const newSubmission = { ...newSubmissionOf(4, i), keyId };
      ids.push(await createSubmission("queued", store, lane, newSubmission));
    }
    let page = 0;
    const pages = await pagesOf({ ...filter, keyId, limit: 3 }, async () => {
      page++;
      await accept(store, { chain: lane.chain, origin: randomUUID() }, [
        { ...newSubmissionOf(4, 20 + page), keyId },
      ]);
      for (const id of ids.filter((_, i) => i % 6 === page - 1)) await TRANSITION_TO.failed(store, lane, id);
    });
    expect(page).toBe(6);
    expect(pages.flat()).toEqual(ids.reverse());
  });

  it("finds the submissions of a busy sender among those of the key, in several parts", async () => {
    const keyId = "busy";
    await insertFinished(8_000, { keyId });
    const sender = (
      await store.pool.query<{ sender: Buffer }>("select substr(sha256('busy'), 1, 20) as sender")
    ).rows[0]?.sender;
    const all = await store.pool.query<{ id: string }>(
      "select id from finished where key_id = 'busy' and sender = $1 order by id desc",
      [sender],
    );
    for (const stateFilter of [{}, { states: ["included"] as const }]) {
      const pages = await pagesOf({ ...filter, keyId, sender, limit: 200, ...stateFilter });
      expect(pages.flat()).toEqual(all.rows.map(({ id }) => id));
    }
    expect((await pagesOf({ ...filter, sender })).flat()).toEqual([]);
  });

  it("reads few pages of the disk, however many there are, with any filter", async () => {
    const keyId = "large";
    await insertFinished(30_000, { keyId, sender: "large" });
    await store.pool.query("analyze finished");
    const { rows } = await store.pool.query(
      "select pg_relation_size(max(tableoid)) / 8192 as pages from finished where key_id = $1",
      [keyId],
    );
    expect(Number(rows[0]?.pages)).toBeGreaterThan(1_000);
    const byHash = { innerHash: bytes(32, 7) };
    const cases: Partial<ListFilter>[] = [
      ...[
        {},
        { keyId },
        { keyId, states: ["failed"] as const },
        { keyId: "nobody" },
        byHash,
        { keyId, ...byHash },
      ],
      ...[
        { keyId, sender: bytes(20, 7) },
        { keyId, from: firstIdAt(new Date(1_600_000_000_100)), limit: 1 },
      ],
      { keyId, before: firstIdAt(new Date(1_600_000_000_100)) },
    ];
    for (const partialFilter of cases) {
      expect(
        await blocksOf({ ...filter, limit: 50, ...partialFilter }),
        JSON.stringify(partialFilter),
      ).toBeLessThan(400);
    }
  });
});

/** Counts the blocks of 8 kB that the database reads for a page. */
async function blocksOf(listFilter: ListFilter): Promise<number> {
  let blocks = 0;
  const query = async (statement: Statement | string, values?: readonly unknown[]) => {
    const { text, values: inside = values } = typeof statement === "string" ? { text: statement } : statement;
    const explain = `explain (analyze, buffers, format json) ${text}`;
    const { rows } = await store.pool.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
      explain,
      inside,
    );
    const plan = rows[0]?.["QUERY PLAN"][0].Plan;
    blocks += (plan?.["Shared Hit Blocks"] ?? 0) + (plan?.["Shared Read Blocks"] ?? 0);
    return await store.pool.query(text, inside);
  };
  await listSubmissions({ ...store, pool: { query } as unknown as Store["pool"] }, listFilter);
  return blocks;
}

describe("firstIdAt", () => {
  it("is above the ids made before the moment, and below those made since", () => {
    const time = new Date("2030-06-30T12:00:00Z");
    const id = uuidv7({ msecs: time.getTime() });
    expect(firstIdAt(time) <= id && id < firstIdAt(new Date(time.getTime() + 1))).toBe(true);
    expect(firstIdAt(new Date(-1))).toBe(LOWEST_ID);
    expect(firstIdAt(new Date(8.64e15))).toBe(HIGHEST_ID);
  });
});
