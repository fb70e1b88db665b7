// Another session of the database holds the rows of lanes: a migration, a report with locks, a forgotten transaction.
import { expect, it, vi } from "vitest";
import { createConnection } from "../../src/store/database/database.js";
import { outcomeOf, testServices } from "../support/testService.js";
import { accountsOf, innerOf, userKey } from "../support/user.js";

const services = testServices();
const LANES = 10;
const LOCKED = 8;
const LEASE_MS = 1_000;
const IS_OWNED = "lease_until > now()";

it("while 8 of 10 lanes are locked for longer than a lease, the others keep their leases and do all the work", async () => {
  const waivers = accountsOf(...Array.from({ length: LANES }, (_, i) => userKey(0x7f00 + i)));
  const service = await services.start({ waivers, leaseMs: LEASE_MS });
  await service.until(`select from lanes having bool_and(${IS_OWNED})`);
  const holder = createConnection({ connectionString: service.databaseUrl });
  await holder.connect();
  await holder.query("begin");
  const { rows } = await holder.query<{ waiver: Buffer; now: Date }>(
    "select waiver, now() from lanes order by waiver limit $1 for update",
    [LOCKED],
  );
  const locked = rows.map(({ waiver }) => waiver);
  const epochsOfOthers = () =>
    service.query("select waiver, epoch from lanes where waiver <> all($1) order by waiver", [locked]);
  const before = await epochsOfOthers();
  // Some go to locked lanes, which cannot sign them.
  const users = Array.from({ length: 2 * LANES }, (_, i) => i + 1);
  const lines = await service.submit(
    users.map((user) => innerOf(user)),
    { query: "?wait=included" },
  );
  expect(lines.map(outcomeOf)).toEqual(users.map(() => "success"));
  expect(await service.query("select from submissions where waiver = any($1)", [locked])).toEqual([]);
  const areRenewed = async () => {
    const renewed = await service.query(
      "select from lanes where lease_until > $1::timestamptz + $2 * interval '1 ms'",
      [rows[0]?.now, 2 * LEASE_MS],
    );
    return renewed.length === LANES - LOCKED;
  };
  await vi.waitUntil(areRenewed, { timeout: 60_000, interval: 50 });
  expect(await epochsOfOthers()).toEqual(before);
  await holder.query("commit");
  await holder.end();
  await service.until(`select from lanes having bool_and(${IS_OWNED})`);
  let nonce = 1;
  // The replica sends work to lanes that it knows as its own.
  const haveWork = async () => {
    const later = await service.submit(users.map((user) => innerOf(user, nonce)));
    expect(later.map(outcomeOf)).toEqual(users.map(() => "success"));
    nonce++;
    return (await service.query("select from submissions where waiver = any($1)", [locked])).length > 0;
  };
  await vi.waitUntil(haveWork, { timeout: 60_000, interval: 50 });
});
