import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { useTestPostgres } from "../../test/support/testStore.js";
import { openPool, type Pool } from "./database.js";
import { migrate } from "./migrate.js";

const postgres = useTestPostgres();

/** The last version before the columns of `unfinished` got a new order. */
const BEFORE_NEW_ORDER = 29;
const ROWS = 1_200;
const WORKERS = 4;

/** Each worker changes its own rows, as the version before does. Nonces are of one sender and one waiver. */
class Worker {
  readonly #pool: Pool;
  readonly #number: number;
  /** The waiver nonce of each row, by the nonce of its sender. */
  readonly expected = new Map<number, number | null>();
  #next = 0;
  steps = 0;

  constructor(pool: Pool, number: number) {
    this.#pool = pool;
    this.#number = number;
  }

  #nonce(): number {
    return this.#number * 1_000_000 + this.#next++;
  }

  async insert(count: number): Promise<void> {
    const nonces = Array.from({ length: count }, () => this.#nonce());
    await this.#pool.query(
      `insert into unfinished (id, chain, key_id, origin, inner_hash, inner_raw, sender, sender_nonce, target, waiver)
       select uuidv7(), 1, 'key', gen_random_uuid(), sha256(int8send(n)), sha256(int8send(n)), substr(sha256('s'), 1, 20), n,
              substr(sha256('t'), 1, 20), substr(sha256('w'), 1, 20) from unnest($1::bigint[]) n`,
      [nonces],
    );
    for (const nonce of nonces) this.expected.set(nonce, null);
  }

  /** Signs the lowest row, takes the nonce of the row before away from it, and ends the oldest. */
  async step(): Promise<void> {
    this.steps++;
    const [oldest, signed, next] = [...this.expected.keys()];
    if (oldest === undefined || signed === undefined || next === undefined) return await this.insert(3);
    await this.#pool.query("delete from unfinished where sender_nonce = $1", [oldest]);
    this.expected.delete(oldest);
    await this.#sign(signed, null);
    await this.#sign(next, oldest);
    await this.insert(1);
  }

  async #sign(nonce: number, waiverNonce: number | null): Promise<void> {
    await this.#pool.query(
      `update unfinished set state = case when $2::bigint is null then 'queued' else 'signed' end::submission_state,
         waiver_nonce = $2, wrapper_raw = case when $2::bigint is not null then 'raw'::bytea end
       where sender_nonce = $1`,
      [nonce, waiverNonce],
    );
    this.expected.set(nonce, waiverNonce);
  }
}

it("puts the columns of unfinished submissions into a new order while the version before works on them", async () => {
  const pool = openPool({
    connectionString: await postgres.createEmptyDatabase(),
    maxConnections: WORKERS + 2,
  });
  await pool.query(
    "create table migrations (number integer primary key, applied_at timestamptz default now())",
  );
  for (let number = 1; number <= BEFORE_NEW_ORDER; number++) {
    const file = new URL(`../../migrations/${String(number).padStart(6, "0")}.sql`, import.meta.url);
    await pool.query(await readFile(file, "utf8"));
    await pool.query("insert into migrations (number) values ($1)", [number]);
  }
  await pool.query("grant select on unfinished to public");
  const before = await pool.query(
    "select column_name, data_type, is_nullable, column_default from information_schema.columns where table_name = 'unfinished' order by 1",
  );
  const workers = Array.from({ length: WORKERS }, (_, i) => new Worker(pool, i));
  await Promise.all(workers.map((worker) => worker.insert(ROWS / WORKERS)));
  // A row that somebody has locked all the time, and then does not change.
  const holder = await pool.connect();
  await holder.query("begin; select from unfinished where sender_nonce = 200 for update");
  let isDone = false;
  const working = workers.map(async (worker) => {
    while (!isDone) await worker.step();
  });
  const log = { info() {}, warn: () => void holder.query("commit") };
  await migrate(pool, log).finally(() => {
    isDone = true;
  });
  holder.release();
  await Promise.all(working);
  for (const worker of workers) await worker.step();

  const { rows } = await pool.query<{ sender_nonce: string; waiver_nonce: string | null }>(
    "select sender_nonce, waiver_nonce from unfinished",
  );
  const numbers = rows.map(
    (row) => [Number(row.sender_nonce), row.waiver_nonce && Number(row.waiver_nonce)] as const,
  );
  expect(new Map(numbers)).toEqual(new Map(workers.flatMap(({ expected }) => [...expected])));
  expect(rows.length).toBe(ROWS);
  const viewed = await pool.query("select count(*)::int as count from submissions");
  expect(viewed.rows).toEqual([{ count: ROWS }]);
  const after = await pool.query(
    "select column_name, data_type, is_nullable, column_default from information_schema.columns where table_name = 'unfinished' order by 1",
  );
  expect(after.rows).toEqual(before.rows);
  const { rows: leftOver } = await pool.query(
    "select relname from pg_class where relname ~ 'unfinished_next' union all select proname from pg_proc where proname in ('repeat_change', 'reordered')",
  );
  expect(leftOver).toEqual([]);
  const { rows: rights } = await pool.query(
    "select privilege_type from pg_class, aclexplode(relacl) where oid = 'unfinished'::regclass and grantee = 0",
  );
  expect(rights).toEqual([{ privilege_type: "SELECT" }]);
  await migrate(pool, silent);
  await pool.end();
}, 60_000);
