// The start of a service whose store has many outcomes.
import { expect, it } from "vitest";
import { type TestService, testServices } from "../support/testService.js";
import { endSessions } from "../support/testSessions.js";

const services = testServices();
const ROWS = 40_000;

/**
 * The blocks of the table of outcomes and of its indexes that all ended sessions have read, from memory or disk. A session counts
 * them for good when it ends.
 */
async function blocksRead(service: TestService): Promise<number> {
  await endSessions(service.databaseUrl);
  const isAlone = "select from pg_stat_activity where datname = current_database() having count(*) = 1";
  await expect.poll(() => service.query(isAlone), { timeout: 60_000 }).toHaveLength(1);
  const [row] = await service.query<{ blocks: string }>(
    `select sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)) as blocks
     from pg_statio_user_tables where relname like 'finished%'`,
  );
  return Number(row?.blocks);
}

it("reads few blocks of the outcomes, however many there are", async () => {
  const service = await services.start();
  await service.server.close();
  await service.query(
    `insert into finished (id, chain, key_id, state, inner_hash, sender, sender_nonce, target, waiver, waiver_nonce,
                           signings, wrapper_hash, block_number, block_hash, gas_used, reverted, accepted_at, finished_at)
     select uuidv7(), l.chain, 'key', 'included', sha256(n::text::bytea), substr(sha256(n::text::bytea), 1, 20), 0,
            l.waiver, l.waiver, n, 1, sha256(n::text::bytea), n, sha256(n::text::bytea), 21000, false, now(), now()
     from lanes l, generate_series(1, ${ROWS}) n`,
  );
  await service.query("vacuum analyze finished");
  const before = await blocksRead(service);
  const again = await service.startReplica({ policySource: "config" });
  expect(again.server.earlierSubmissions).toBe(1_001);
  await again.server.close();
  expect((await blocksRead(service)) - before).toBeLessThan(300);
});
