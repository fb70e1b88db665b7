// The PostgreSQL of the tests: the tests of failovers rely on which commits it loses and which it keeps.
import { afterEach, describe, expect, it } from "vitest";
import { createConnection } from "../../src/store/database/database.js";
import { TestPostgres } from "./testPostgres.js";

let postgres: TestPostgres | undefined;
afterEach(() => postgres?.end());

async function query<Row>(url: string, text: string): Promise<Row[]> {
  const connection = createConnection({ connectionString: url });
  await connection.connect();
  try {
    return (await connection.query<Row>(text)).rows;
  } finally {
    await connection.end();
  }
}

describe("a PostgreSQL with a standby", () => {
  it("loses at a failover what was committed while an asynchronous standby was behind, and goes on at the same address", async () => {
    postgres = await new TestPostgres().start();
    const url = await postgres.createEmptyDatabase();
    await query(url, "create table kept as select 1 as number");
    await postgres.addStandby("asynchronous");
    postgres.stallReplication();
    await query(url, "insert into kept values (2)");
    await postgres.failOver();
    expect(await query(url, "select number from kept")).toEqual([{ number: 1 }]);
    await query(url, "insert into kept values (3)");
    await postgres.addStandby("synchronous");
    await query(url, "insert into kept values (4)");
    await postgres.failOver();
    expect(await query(url, "select number from kept order by 1")).toEqual(
      [1, 3, 4].map((number) => ({ number })),
    );
  });
});
