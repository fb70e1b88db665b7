// The lanes are spread over the replicas that are alive and have their keys.
import { expect, it } from "vitest";
import { startServiceProcess } from "../support/serviceProcess.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { accountsOf, innerOf } from "../support/user.js";

const services = testServices();
const KEYS = Array.from({ length: 6 }, (_, i) => new Uint8Array(32).fill(0x61 + i));
const WITH_KEYS = { waivers: accountsOf(...KEYS), leaseMs: 1_500 };

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
/**
 * Submits transactions of 20 new senders at a time, which spread over the lanes. Resolves with the outcomes, and with the usual time of
 * a request in seconds: the pace of the machine.
 */
function submitUntilStopped(service: TestService) {
  let stopped = false;
  const running = (async () => {
    const outcomes: string[] = [];
    const times: number[] = [];
    while (!stopped) {
      const transactions = Array.from({ length: 20 }, () => innerOf(user++));
      times.push(
        await secondsUntil(
          service.submit(transactions).then((lines) => outcomes.push(...lines.map(outcomeOf))),
        ),
      );
    }
    return { outcomes, pace: times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN };
  })();
  return {
    stop() {
      stopped = true;
      return running;
    },
  };
}

async function secondsUntil(event: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await event;
  return (performance.now() - begun) / 1_000;
}
const ALL_SUCCEED = Array(2 * KEYS.length).fill("success");

it("replicas that start get their share of the lanes, and those of one that stops go to the others", async () => {
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
});

it("4 replicas have 5 of 20 lanes each, and share those of one that is killed and one that stops, while nothing waits more than 3 s longer than a lease", async () => {
  const leaseMs = 3_000;
  const keys = Array.from({ length: 20 }, (_, i) => new Uint8Array(32).fill(0x21 + i));
  const first = await services.start({ waivers: accountsOf(...keys), leaseMs });
  const traffic = submitUntilStopped(first);
  const [, third, killed] = await Promise.all([
    first.startReplica().then((second) => services.closeAfterTest(second)),
    first.startReplica().then((replica) => services.closeAfterTest(replica)),
    startServiceProcess(first.databaseUrl, first.node.url, { leaseMs }, keys),
  ]);
  const afterStart = await secondsUntil(untilSpread(first, 5, 5, 5, 5));
  await killed.kill();
  const afterCrash = await secondsUntil(untilSpread(first, 6, 7, 7));
  await third.server.close();
  const afterStop = await secondsUntil(untilSpread(first, 10, 10));
  const { outcomes, pace } = await traffic.stop();
  expect(outcomes).toEqual(outcomes.map(() => "success"));
  const [{ wait = Number.NaN } = {}] = await first.query<{ wait: number }>(
    "select max(extract(epoch from signed_at - accepted_at))::float as wait from submissions",
  );
  const seconds = { afterStart, afterCrash, afterStop, wait };
  // A lane is taken when its lease is over. The rest of the time is for the steps that come then, which a busy machine does slowly.
  const steps = (atLeast: number) => Math.max(atLeast, 5 * atLeast * pace);
  const limits = {
    afterStart: steps(10),
    afterCrash: steps(10),
    afterStop: steps(10),
    wait: leaseMs / 1_000 + steps(3),
  };
  const above = Object.entries(limits).filter(
    ([name, limit]) => !(seconds[name as keyof typeof seconds] <= limit),
  );
  expect({ above, seconds }).toEqual({ above: [], seconds });
});

it("a lane whose key only one replica has stays there", async () => {
  const first = await services.start(WITH_KEYS);
  const second = services.closeAfterTest(
    await first.startReplica({ waivers: accountsOf(...KEYS.slice(0, 1)) }),
  );
  await untilSpread(first, 1, 5);
  expect(await submitSome(second)).toEqual(ALL_SUCCEED);
  expect(await first.query("select from lanes where lease_until > now() group by owner")).toHaveLength(2);
});
