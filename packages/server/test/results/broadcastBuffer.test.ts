// The result line is sent as soon as the node has accepted the wrapper; the database write follows.
import { v7 as uuidv7 } from "uuid";
import { describe, expect, it } from "vitest";
import { createConnection } from "../../src/store/database/database.js";
import { GOOD_HEADERS, outcomeOf, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices();

/** Blocks every write of the state `broadcast` until the returned function is called. */
async function holdBroadcasts(databaseUrl: string): Promise<() => Promise<void>> {
  const client = createConnection({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    create function hold() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger hold before update on unfinished for each row when (new.state = 'broadcast') execute function hold()`);
  await client.query("select pg_advisory_lock(1)");
  return () => client.end();
}

describe("a submission that the node has accepted", () => {
  it("has its line before the store has its state, and its record waits for the store", async () => {
    const service = await services.start({}, { automine: false });
    const release = await holdBroadcasts(service.databaseUrl);
    const [line] = await service.submit([innerOf(1)]);
    expect(outcomeOf(line)).toBe("success");
    expect((await service.rows()).map(({ state }) => state)).toEqual(["signed"]);
    const get = (path: string) => service.call("GET", path, undefined, GOOD_HEADERS);
    let answered = 0;
    const requests = ["/v1/submissions", `/v1/submissions/${line?.id}`].map(async (path) => {
      const { text } = await get(path);
      answered++;
      return JSON.parse(text);
    });
    // Three round trips take longer than the two requests would if the writes were not blocked.
    for (let i = 0; i < 3; i++) expect((await get(`/v1/submissions/${uuidv7()}`)).status).toBe(404);
    expect(answered).toBe(0);
    await release();
    const answers = await Promise.all(requests);
    expect([answers[0].submissions[0].state, answers[1].state]).toEqual(["broadcast", "broadcast"]);
  });

  it("is stored as broadcast when the service has ended", async () => {
    const service = await services.start({}, { automine: false });
    await service.submit([innerOf(1), innerOf(2)]);
    await service.server.close();
    expect((await service.rows()).map(({ state }) => state)).toEqual(["broadcast", "broadcast"]);
  });
});
