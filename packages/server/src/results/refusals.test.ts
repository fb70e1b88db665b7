import { ProtocolError, parseInnerTx } from "@gas-waiver/protocol";
import { v7 as uuidv7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import { callerOf } from "../../test/support/callers.js";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import { innerOf } from "../../test/support/user.js";
import type { RefusedLine } from "../model/submission/refusedRecord.js";
import { dropOldRefusals, findRefusals } from "../store/refusals/refusals.js";
import type { OpenStore } from "../store/store.js";
import {
  MAX_WAITING_REFUSALS,
  REFUSALS_OF_KEY,
  REFUSALS_OF_REPLICA,
  REFUSALS_PER_WRITE,
  Refusals,
} from "./refusals.js";

let opened: OpenStore | undefined;
useTestStore("shared", (store) => {
  opened = store as OpenStore;
});
function store(): OpenStore {
  if (opened === undefined) throw new Error("the store is not open");
  return opened;
}
beforeEach(async () => {
  await store().pool.query("truncate refusals_0, refusals_1, refusals_2");
});

/** A store that records the statements, and is away while `trouble` is set. */
function countedStore() {
  const statements: string[] = [];
  const monitor: { trouble: unknown } = { trouble: undefined };
  const query = (statement: { text: string }) => {
    statements.push(statement.text);
    return store().pool.query(statement as never);
  };
  return { statements, monitor, store: { pool: { query }, monitor } as unknown as OpenStore };
}

const CLOCK = { ms: 0 };
function refusalsOn(given: OpenStore) {
  return new Refusals({ store: given, reading: store(), log: silent, now: () => CLOCK.ms });
}

const error = new ProtocolError("WRONG_CHAIN_ID", "the chain is another", { chainId: "1", expected: "2201" });
const tx = parseInnerTx(innerOf(1));
const linesOf = (count: number): RefusedLine[] =>
  Array.from({ length: count }, () => ({ id: uuidv7(), error, tx: undefined }));

async function rowCount(): Promise<number> {
  const { rows } = await store().pool.query<{ count: number }>("select count(*)::int as count from refusals");
  return rows[0]?.count ?? -1;
}

describe("a flood of refused lines", () => {
  it("of one key is kept up to the burst, then at the key's rate, in few statements; others go on", async () => {
    const { statements, store: counted } = countedStore();
    const refusals = refusalsOn(counted);
    const [first, ...further] = Array.from({ length: 30 }, () => linesOf(100));
    for (const lines of [first, ...further]) refusals.keep(callerOf("flood"), lines ?? []);
    // The lines of a flood write nothing themselves.
    expect(statements).toEqual([]);
    CLOCK.ms += 3_000;
    const late = linesOf(100);
    refusals.keep(callerOf("flood"), late);
    const ofOther = linesOf(1);
    refusals.keep(callerOf("other"), ofOther);
    await refusals.close();
    const kept = REFUSALS_OF_KEY.rateBurst + 3 * REFUSALS_OF_KEY.ratePerSecond + 1;
    expect(await rowCount()).toBe(kept);
    // One more where the ids lie on two days.
    expect(statements.length).toBeLessThanOrEqual(Math.ceil(kept / REFUSALS_PER_WRITE) + 1);
    const known = async (keyId: string, lines: readonly RefusedLine[] = []) =>
      (
        await findRefusals(
          store(),
          keyId,
          lines.map(({ id }) => id),
        )
      ).length;
    expect(await known("flood", first)).toBe(100);
    expect(await known("flood", further.at(-1))).toBe(0);
    expect(await known("flood", late)).toBe(3 * REFUSALS_OF_KEY.ratePerSecond);
    expect(await known("other", ofOther)).toBe(1);
    expect(await known("flood", ofOther)).toBe(0);
  });

  it("of many keys is bounded for the replica, and in memory while the store is away", async () => {
    const { statements, monitor, store: counted } = countedStore();
    const refusals = refusalsOn(counted);
    monitor.trouble = "away";
    const sent = Array.from({ length: 6 }, (_, i) => ({ keyId: `key ${i}`, lines: linesOf(1_000) }));
    for (const { keyId, lines } of sent) refusals.keep(callerOf(keyId), lines);
    CLOCK.ms += 60_000;
    for (const { keyId } of sent) refusals.keep(callerOf(keyId), linesOf(1_000));
    const found = sent.map(({ keyId, lines }) =>
      refusals.find(
        keyId,
        lines.map(({ id }) => id),
      ),
    );
    expect((await Promise.all(found)).flat()).toHaveLength(MAX_WAITING_REFUSALS);
    expect(statements).toEqual([]);
    monitor.trouble = undefined;
    await refusals.close();
    expect(REFUSALS_OF_REPLICA.rateBurst).toBe(MAX_WAITING_REFUSALS);
    expect(await rowCount()).toBe(MAX_WAITING_REFUSALS);
    expect(statements.length).toBeLessThanOrEqual(MAX_WAITING_REFUSALS / REFUSALS_PER_WRITE + 1);
  });

  it("of a publishable key is not kept, since such a key names nothing by its id", async () => {
    const refusals = refusalsOn(store());
    const publishable = { origins: [], addressRate: { ratePerSecond: 1, rateBurst: 1 } };
    refusals.keep(callerOf("page", { publishable }), linesOf(1));
    await refusals.close();
    expect(await rowCount()).toBe(0);
  });

  it("keeps little of each line, however long it is", async () => {
    const refusals = refusalsOn(store());
    const long = "x".repeat(1_000_000);
    const id = uuidv7();
    const values = { allowedSelectors: Array.from({ length: 1_000 }, () => "0xa9059cbb"), target: long };
    refusals.keep(callerOf("key"), [
      { id, error: new ProtocolError("TARGET_NOT_ALLOWED", long, values), tx },
    ]);
    const [record] = await refusals.find("key", [id]);
    expect(JSON.stringify(record).length).toBeLessThan(4_000);
    await refusals.close();
    expect(await findRefusals(store(), "key", [id])).toEqual([record]);
  });
});

describe("refusals of days ago", () => {
  const HOUR = 3_600_000;
  const DAY = 24 * HOUR;
  const lineAt = (msecs: number): RefusedLine => ({ id: uuidv7({ msecs }), error, tx: undefined });
  const keep = async (lines: readonly RefusedLine[]) => {
    const refusals = refusalsOn(store());
    refusals.keep(callerOf("key"), lines);
    await refusals.close();
    return lines.map(({ id }) => id);
  };

  it("cannot be looked up after a day", async () => {
    const ids = await keep([0, 23, 25, 73].map((hours) => lineAt(Date.now() - hours * HOUR)));
    const found = await findRefusals(store(), "key", ids);
    expect(found.map(({ id }) => id).sort()).toEqual(ids.slice(0, 2).sort());
  });

  it("leave by a whole table, before tomorrow's refusals go there", async () => {
    const today = Math.floor(Date.now() / DAY) * DAY;
    const ids = await keep([today, today - 1, today - DAY - 1, today - 2 * DAY - 1].map(lineAt));
    expect(await dropOldRefusals(store())).toBe(true);
    const { rows } = await store().pool.query<{ id: string }>("select id from refusals");
    // Those of three days ago are in today's table, and leave with it.
    expect(rows.map(({ id }) => id).sort()).toEqual([ids[0], ids[1], ids[3]].sort());
  });

  it("wait for a transaction that reads them, and for nothing else", async () => {
    await keep([lineAt(Date.now() - 2 * DAY)]);
    const reader = await store().pool.connect();
    try {
      await reader.query("begin; select from refusals");
      expect(await dropOldRefusals(store())).toBe(false);
      await reader.query("commit");
    } finally {
      reader.release();
    }
    expect(await dropOldRefusals(store())).toBe(true);
    expect(await rowCount()).toBe(0);
  });
});
