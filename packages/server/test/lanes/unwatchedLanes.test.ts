// Lanes in which nobody signs any more: they are stopped or retired, or no replica has their key. A replica still follows
// the wrappers that they have sent to their end.
import { bytesToHex, decodeTransaction, hexToBytes, recoverSender } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { lanesOf, setLaneState, untilOwned } from "../support/laneStates.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { accountsOf, innerOf, SECOND_KEY, SECOND_WAIVER, WAIVER, WAIVER_KEY } from "../support/user.js";

const services = testServices();
const INCLUDED = { query: "?wait=included" };
const USERS = [1, 2, 3];
const THIRD_KEY = new Uint8Array(32).fill(0x79);

/** Starts a service with one lane that has sent a transaction of each user, and gives it a second lane. */
async function startWithWork(changes = {}): Promise<TestService> {
  const options = { leaseMs: 300, sweepIntervalMs: 300, ...changes };
  const service = await services.start(options, { automine: false });
  await service.submit(USERS.map((user) => innerOf(user)));
  await service.until("select from submissions having count(*) filter (where state = 'broadcast') = 3");
  await service.server.setWaivers(accountsOf(WAIVER_KEY, SECOND_KEY));
  await untilOwned(service, [SECOND_WAIVER]);
  return service;
}

/** The ways in which the first lane loses its signer. */
const SIGNER_LOSSES: Readonly<Record<string, (service: TestService) => Promise<unknown>>> = {
  "is stopped by an operator": (service) => setLaneState(service, WAIVER, "stopped"),
  "is retired with work in flight": async (service) => {
    await setLaneState(service, WAIVER, "retired");
    // The lane's owner signs until its lease ends, and then finds the lane retired.
    await service.until("select from lanes where watch_only");
  },
  "loses its key on every replica": (service) => service.server.setWaivers(accountsOf(SECOND_KEY)),
};

const waiverOf = (raw: string) =>
  bytesToHex(recoverSender(decodeTransaction(hexToBytes(raw as `0x${string}`))));

describe.each(Object.entries(SIGNER_LOSSES))("a lane that %s", (_, loseSigner) => {
  it("has its wrappers included by the chain's receipts, and its senders go on in another lane", async () => {
    const service = await startWithWork();
    await loseSigner(service);
    const sent = service.node.sent.length;
    const later = service.submit([innerOf(1, 1)], INCLUDED);
    await service.until("select from submissions where state = 'queued'");
    service.node.mine();
    await service.until("select from submissions having count(*) filter (where state = 'included') = 3");
    await service.node.until(({ chain }) => chain.pending.length === 1);
    service.node.mine();
    expect((await later).map(outcomeOf)).toEqual(["success"]);
    expect(new Set(service.node.sent.slice(sent).map(waiverOf))).toEqual(new Set([SECOND_WAIVER]));
    expect((await lanesOf(service)).get(WAIVER)).toMatchObject({ inFlight: 0, queued: 0 });
  });

  it("gives submissions that blocks leave out to another lane, which runs them once", async () => {
    const service = await startWithWork({ resendAfterMs: 100 });
    // The pool loses the wrappers of the lane, and the node takes none of them again.
    const [lost] = service.node.chain.pending;
    service.node.onSends({
      kind: "error",
      of: (raw) => (waiverOf(raw) === WAIVER ? { code: -32000, message: "not here" } : undefined),
    });
    service.node.chain.clearPool();
    await loseSigner(service);
    const mining = setInterval(() => service.node.mine(), 50);
    await service.until("select from submissions having count(*) filter (where state = 'included') = 3");
    clearInterval(mining);
    const { executed } = service.node.chain;
    expect(executed).toHaveLength(3);
    expect(executed).toContain(lost?.innerHash);
    expect(service.node.chain.nonceOf(SECOND_WAIVER)).toBe(3n);
  });
});

describe("a lane whose key no replica has", () => {
  it("sends its stored wrappers again where the pool has lost them", async () => {
    const service = await startWithWork({ resendAfterMs: 50 });
    await service.server.setWaivers(accountsOf(SECOND_KEY));
    service.node.chain.clearPool();
    await service.node.until(({ chain }) => chain.pending.length === 3);
    service.node.mine();
    await service.until("select from submissions having count(*) filter (where state = 'included') = 3");
    expect(service.node.chain.nonceOf(WAIVER)).toBe(3n);
    expect((await lanesOf(service)).get(WAIVER)).toMatchObject({ owner: undefined, state: "open" });
  });

  it("gets back from the chain what the store has forgotten of it in a failover, and a lane retired before has nothing to get", async () => {
    const service = await startWithWork();
    await setLaneState(service, SECOND_WAIVER, "retired");
    service.node.mine();
    await service.until("select from submissions having count(*) filter (where state = 'included') = 3");
    await service.server.close();
    await service.query("delete from finished");
    await service.query("update lanes set known_below = 0");
    await service.query(
      `insert into database_servers (system, timeline, first_seen)
       select system, 0, now() - interval '1 year' from database_servers`,
    );
    const next = services.closeAfterTest(await service.startReplica({ waivers: accountsOf(THIRD_KEY) }));
    await next.until("select from submissions having count(*) filter (where state = 'included') = 3");
    expect((await lanesOf(next)).get(WAIVER)).toMatchObject({ foreignUses: 0, state: "open" });
    expect(await next.query("select state from lanes where watch_only")).toEqual([{ state: "open" }]);
  });
});
