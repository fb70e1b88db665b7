import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { isStoreUnavailable } from "../database/storeTrouble.js";
import { inTransaction, isTransactionConflict } from "../database/transaction.js";
import type { Store } from "../store.js";
import {
  findIdempotentRequest,
  forgetIdempotentRequests,
  lockIdempotentRequest,
  saveDecisions,
} from "./idempotentRequests.js";

const RETENTION_MS = 60_000;
const ago = (ms: number) => new Date(Date.now() - ms);
const ID = "01890a5d-ac96-774b-bcce-b302099a8057";
const OTHER_ID = "01890a5d-ac96-774b-bcce-b302099a8058";

let store: Store;
const databases = useTestStore(
  "shared",
  (opened) => {
    store = opened;
  },
  "tcp",
);

const requestOf = (name: number, keyId = "key") => ({
  ...{ chain: 1, keyId, idempotencyKeyHash: bytes(32, name), bodyHash: bytes(32, 0) },
});

describe("a request with an idempotency key", () => {
  it("is locked by one transaction at a time, and the next one reads its decisions", async () => {
    const request = requestOf(1);
    let second: Promise<unknown> = Promise.resolve();
    await inTransaction(store, async (db) => {
      const fresh = await lockIdempotentRequest(db, request, [ID], ago(RETENTION_MS));
      expect(fresh).toMatchObject({ ids: [ID], decided: 0, refusals: {} });
      second = inTransaction(store, (other) =>
        lockIdempotentRequest(other, request, [OTHER_ID], ago(RETENTION_MS)),
      );
      // The decisions are invisible before the first transaction commits.
      expect(await findIdempotentRequest(store.pool, request, ago(RETENTION_MS))).toBeUndefined();
      await saveDecisions(db, request, {
        ids: [ID],
        decided: 1,
        refusals: { 0: ["INVALID_HEX", "no", { character: 2 }] },
      });
    });
    const decided = { ids: [ID], decided: 1, refusals: { 0: ["INVALID_HEX", "no", { character: 2 }] } };
    expect(await second).toMatchObject(decided);
    expect(await findIdempotentRequest(store.pool, request, ago(RETENTION_MS))).toMatchObject(decided);
    expect(await findIdempotentRequest(store.pool, requestOf(1, "other"), ago(RETENTION_MS))).toBeUndefined();
  });

  it("leaves nothing behind when its transaction fails", async () => {
    const lost = inTransaction(store, async (db) => {
      await lockIdempotentRequest(db, requestOf(2), [ID], ago(RETENTION_MS));
      throw new Error("lost");
    });
    await expect(lost).rejects.toThrow("lost");
    expect(await findIdempotentRequest(store.pool, requestOf(2), ago(RETENTION_MS))).toBeUndefined();
  });

  it("fails with its transaction when the store goes away in between", async () => {
    const cut = inTransaction(store, async (db) => {
      await lockIdempotentRequest(db, requestOf(4), [ID], ago(RETENTION_MS));
      await databases.halt();
    });
    const error = await cut.catch((thrown: unknown) => thrown);
    await databases.resume();
    expect(isStoreUnavailable(error)).toBe(true);
    expect(await findIdempotentRequest(store.pool, requestOf(4), ago(RETENTION_MS))).toBeUndefined();
  });

  it("is released when the process that locks it goes silent", async () => {
    const silent = inTransaction(store, async (db) => {
      await lockIdempotentRequest(db, requestOf(5), [ID], ago(RETENTION_MS));
      await db.query("set local idle_in_transaction_session_timeout = '1ms'");
      return await inTransaction(store, (other) =>
        lockIdempotentRequest(other, requestOf(5), [OTHER_ID], ago(RETENTION_MS)),
      );
    });
    await expect(silent).rejects.toThrow();
    expect(await findIdempotentRequest(store.pool, requestOf(5), ago(RETENTION_MS))).toMatchObject({
      ids: [OTHER_ID],
    });
  });

  it("whose lock is not released in time fails with an error that permits another attempt", async () => {
    await inTransaction(store, async (db) => {
      await lockIdempotentRequest(db, requestOf(3), [ID], ago(RETENTION_MS));
      const timedOut = inTransaction(store, async (other) => {
        await other.query("set local lock_timeout = '1ms'");
        await lockIdempotentRequest(other, requestOf(3), [ID], ago(RETENTION_MS));
      });
      expect(isTransactionConflict(await timedOut.catch((error: unknown) => error))).toBe(true);
    });
    expect(isTransactionConflict(new Error("another"))).toBe(false);
  });

  it("is deleted in steps, the oldest first, and not before its retention ends", async () => {
    for (const name of [10, 11, 12, 13])
      await lockIdempotentRequest(store.pool, requestOf(name), [ID], ago(RETENTION_MS));
    await store.pool.query(
      `update keyed_requests set created_at = now() - get_byte(name_hash, 0) * interval '1 minute'
       where get_byte(name_hash, 0) in (10, 11, 12)`,
    );
    expect(await forgetIdempotentRequests(store.pool, ago(10.5 * 60_000), 1)).toBe(1);
    const remainingNames =
      "select get_byte(name_hash, 0) as name from keyed_requests where get_byte(name_hash, 0) >= 10";
    const names = async () => (await store.pool.query(remainingNames)).rows.map(({ name }) => name).sort();
    expect(await names()).toEqual([10, 11, 13]);
    expect(await forgetIdempotentRequests(store.pool, ago(10.5 * 60_000), 500)).toBe(1);
    expect(await names()).toEqual([10, 13]);
  });
});
