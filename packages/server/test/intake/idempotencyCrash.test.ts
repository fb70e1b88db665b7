// D18, D19: a repeated request goes on where a killed service stopped.
import { describe, expect, it } from "vitest";
import { createConnection } from "../../src/store/database/database.js";
import { startServiceProcess } from "../support/serviceProcess.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf } from "../support/user.js";

const services = testServices();
const IDEMPOTENCY_KEY = { "idempotency-key": "a" };
const REPLAY = { headers: IDEMPOTENCY_KEY, query: "?wait=included" };

const startChild = ({ databaseUrl, node }: TestService) => startServiceProcess(databaseUrl, node.url);
const replyLost = () => {};

/** Starts a service and closes it, so that its store exists. */
async function createClosedService(): Promise<TestService> {
  const service = await services.start();
  await service.server.close();
  return service;
}

const executed = ({ node }: TestService) => [...node.chain.executed].sort();

describe("a service that is killed after all decisions, before any line", () => {
  it("is replaced by one that answers the same ids, and executes each transaction once", async () => {
    const service = await createClosedService();
    const child = await startChild(service);
    service.node.onSends({ kind: "silence", carriedOut: true });
    child.post([innerOf(1), "0x", innerOf(1, 1)], { headers: IDEMPOTENCY_KEY }).catch(replyLost);
    await service.node.until(({ sent }) => sent.length > 0);
    await child.kill();
    service.node.script = undefined;
    const [{ ids } = { ids: [] }] = await service.query<{ ids: string[] }>("select ids from keyed_requests");

    const next = services.closeAfterTest(await service.startReplica());
    const lines = await next.submit([innerOf(1), "0x", innerOf(1, 1)], REPLAY);
    expect(lines.map(outcomeOf)).toEqual(["success", "PARSE_ERROR/EMPTY_TRANSACTION", "success"]);
    expect(lines.map(({ id }) => id)).toEqual(ids);
    expect(executed(service)).toEqual([innerOf(1), innerOf(1, 1)].map(hashOf).sort());
  });
});

describe("a service that is killed between two slices of a request", () => {
  it("is replaced by one that accepts the rest under the ids of the first request", async () => {
    const service = await createClosedService();
    const batch = Array.from({ length: 40 }, (_, i) => (i % 20 === 3 ? "0x12" : innerOf(1 + i)));
    // This lock stops the second slice between its writes and its commit.
    await service.query(`
      create function hold_second() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
      create trigger hold_second before update on keyed_requests for each row
        when (new.decided > 25) execute function hold_second()`);
    const holder = createConnection({ connectionString: service.databaseUrl });
    await holder.connect();
    await holder.query("select pg_advisory_lock(1)");
    const child = await startChild(service);
    child.post(batch, { headers: IDEMPOTENCY_KEY }).catch(replyLost);
    await service.node.until(({ chain }) => chain.executed.length === 23);
    const [{ ids, decided } = { ids: [], decided: 0 }] = await service.query<{
      ids: string[];
      decided: number;
    }>("select ids, decided from keyed_requests");
    expect([ids.length, decided]).toEqual([40, 25]);
    await child.kill();
    await holder.end();
    expect(await service.rows()).toHaveLength(23);

    const next = services.closeAfterTest(await service.startReplica());
    const lines = await next.submit(batch, REPLAY);
    expect(lines.map(({ id }) => id)).toEqual(ids);
    expect(lines.filter(({ success }) => success)).toHaveLength(38);
    expect(await next.submit(batch, REPLAY)).toEqual(lines);
    expect(executed(service)).toHaveLength(38);
    expect(new Set(executed(service)).size).toBe(38);
  });
});
