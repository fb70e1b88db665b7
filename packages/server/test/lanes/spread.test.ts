// The lanes are spread over the replicas that are alive and have their keys.
import { expect, it } from "vitest";
import { startServiceProcess } from "../support/serviceProcess.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { accountsOf, innerOf } from "../support/user.js";

const services = testServices();
const KEYS = Array.from({ length: 6 }, (_, i) => new Uint8Array(32).fill(0x61 + i));
const WITH_KEYS = { waivers: accountsOf(...KEYS), leaseMs: 1_500 };
const TEST_TIMEOUT_MS = 60_000;

/** Resolves when the replicas have these numbers of lanes, in ascending order. */
const untilSpread = (service: TestService, ...counts: number[]) =>
  service.until(
    `select from (select count(*) as lanes from lanes where lease_until > now() group by owner) of_replica
     having array_agg(lanes order by lanes) = $1::bigint[]`,
    [counts],
  );

let user = 1;
async function submitSome(service: TestService): Promise<string[]> {
  const lines = await service.submit(
    KEYS.flatMap(() => [innerOf(user++), innerOf(user++)]),
    { query: "?wait=included" },
  );
  return lines.map(outcomeOf);
}
const ALL_SUCCEED = Array(2 * KEYS.length).fill("success");

it(
  "replicas that start get their share of the lanes, and those of one that stops go to the others",
  async () => {
    const first = await services.start(WITH_KEYS);
    await untilSpread(first, 6);
    const second = services.closeAfterTest(await first.startReplica());
    const during = submitSome(first);
    await untilSpread(first, 3, 3);
    const third = services.closeAfterTest(await first.startReplica());
    await untilSpread(first, 2, 2, 2);
    expect(await during).toEqual(ALL_SUCCEED);
    expect(await submitSome(second)).toEqual(ALL_SUCCEED);
    await third.server.close();
    await untilSpread(first, 3, 3);
    expect(await submitSome(second)).toEqual(ALL_SUCCEED);
  },
  TEST_TIMEOUT_MS,
);

it(
  "the lanes of a replica that was killed are spread over the others",
  async () => {
    const first = await services.start(WITH_KEYS);
    services.closeAfterTest(await first.startReplica());
    const { leaseMs } = WITH_KEYS;
    const killed = await startServiceProcess(first.databaseUrl, first.node.url, { leaseMs }, KEYS);
    await untilSpread(first, 2, 2, 2);
    await killed.kill();
    await untilSpread(first, 3, 3);
    expect(await submitSome(first)).toEqual(ALL_SUCCEED);
  },
  TEST_TIMEOUT_MS,
);

it(
  "a lane whose key only one replica has stays there",
  async () => {
    const first = await services.start(WITH_KEYS);
    const second = services.closeAfterTest(
      await first.startReplica({ waivers: accountsOf(...KEYS.slice(0, 1)) }),
    );
    await untilSpread(first, 1, 5);
    expect(await submitSome(second)).toEqual(ALL_SUCCEED);
    expect(await first.query("select from lanes where lease_until > now() group by owner")).toHaveLength(2);
  },
  TEST_TIMEOUT_MS,
);
