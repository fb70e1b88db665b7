import { describe, expect, it } from "vitest";
import { useTestStore } from "../../../test/support/testStore.js";
import type { Store } from "../store.js";
import { byteaArray, prepared } from "./statements.js";

let store: Store;
useTestStore("shared", (opened) => {
  store = opened;
});

describe("a bytea array", () => {
  it.each([
    ["nothing", []],
    [
      "empty and long elements",
      [new Uint8Array(0), new Uint8Array(131_072).fill(255), Uint8Array.of(0, 92, 34)],
    ],
    ["nulls", [undefined, Uint8Array.of(1), undefined]],
  ])("arrives unchanged: %s", async (_what, elements) => {
    const query = prepared("select e from unnest($1::bytea[]) with ordinality as u (e, i) order by i", [
      byteaArray(elements),
    ]);
    const { rows } = await store.pool.query<{ e: Buffer | null }>(query);
    expect(rows.map(({ e }) => e && new Uint8Array(e))).toEqual(elements.map((element) => element ?? null));
  });
});

it("takes bytes as they are, those of a part of a buffer too, alone and in a list", async () => {
  const bytes = Uint8Array.of(1, 92, 34, 0, 255).subarray(1, 4);
  const values = [bytes, [bytes, new Uint8Array(0)]];
  const { rows } = await store.pool.query(prepared("select $1::bytea as one, $2::bytea[] as list", values));
  const arrived = Buffer.from(bytes);
  expect(rows).toEqual([{ one: arrived, list: [arrived, Buffer.alloc(0)] }]);
});

describe("a prepared query", () => {
  it("is planned once on each connection", async () => {
    const client = await store.pool.connect();
    try {
      for (const value of [1, 2, 2]) await client.query(prepared("select $1::int as n", [value]));
      await client.query(prepared("select $1::text as n", ["x"]));
      const { rows } = await client.query(
        "select statement, generic_plans::int from pg_prepared_statements where statement like '%as n' order by 1",
      );
      expect(rows).toEqual([
        { statement: "select $1::int as n", generic_plans: 3 },
        { statement: "select $1::text as n", generic_plans: 1 },
      ]);
    } finally {
      client.release();
    }
  });
});
