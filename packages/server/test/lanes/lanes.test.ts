// Several waivers: how senders are spread over lanes, and where the work of a lane goes that cannot do it.
import { bytesToHex, decodeTransaction, type Hex, hexToBytes, recoverSender } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { lanesOf, setLaneState, untilOwned } from "../support/laneStates.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import {
  accountsOf,
  hashOf,
  innerOf,
  SECOND_KEY,
  SECOND_WAIVER,
  userAddress,
  WAIVER,
  WAIVER_KEY,
} from "../support/user.js";

const services = testServices();
const TWO_WAIVERS = { waivers: accountsOf(WAIVER_KEY, SECOND_KEY) };
const INCLUDED = { query: "?wait=included" };
const users = (count: number, from = 1) => Array.from({ length: count }, (_, i) => from + i);

/** Recovers the waivers of sent wrappers, in their order. */
const waiversOf = (sent: readonly Hex[]) =>
  sent.map((raw) => bytesToHex(recoverSender(decodeTransaction(hexToBytes(raw)))));

/** Starts a service with two lanes, and resolves when it owns both. */
async function twoLanes(nodeOptions: { automine?: boolean } = {}): Promise<TestService> {
  const service = await services.start({ ...TWO_WAIVERS, leaseMs: 300 }, nodeOptions);
  await untilOwned(service, [WAIVER, SECOND_WAIVER]);
  return service;
}

describe("two waivers", () => {
  it("share the work, and each lane's nonces have no gap", async () => {
    const first = await twoLanes();
    // The second service finds both lanes owned when it starts.
    const service = services.closeAfterTest(await first.startReplica());
    await service.submit([innerOf(500)], INCLUDED);
    const lines = await service.submit(
      users(60).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(lines.map(outcomeOf)).toEqual(Array(60).fill("success"));
    const { chain } = service.node;
    for (const waiver of [WAIVER, SECOND_WAIVER]) {
      expect(chain.nonceOf(waiver)).toBeGreaterThanOrEqual(30n);
    }
    expect(chain.executed).toHaveLength(61);
  });

  it("keep a sender in its lane while it has a submission in flight, also across requests", async () => {
    const service = await twoLanes({ automine: false });
    await service.submit([innerOf(1, 0)]);
    for (const nonce of [1, 2, 3]) {
      // Other senders make the first lane the fuller one.
      await service.submit(users(3, 10 * nonce).map((user) => innerOf(user)));
      await service.submit([innerOf(1, nonce)]);
    }
    const rows = await service.query<{ waiver: Buffer; nonce: string }>(
      "select waiver, sender_nonce::text as nonce from submissions where sender = $1 order by waiver_nonce",
      [hexToBytes(userAddress(1))],
    );
    expect(new Set(rows.map(({ waiver }) => waiver.toString("hex"))).size).toBe(1);
    expect(rows.map(({ nonce }) => nonce)).toEqual(["0", "1", "2", "3"]);
    service.node.mine();
    expect(service.node.chain.nonceOf(userAddress(1))).toBe(4n);
  });
});

describe("a list of waivers that changes while the service runs", () => {
  it("gives work to an added waiver, and the work of a removed one to the others", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], INCLUDED);
    await service.server.setWaivers(accountsOf(WAIVER_KEY, SECOND_KEY));
    await untilOwned(service, [SECOND_WAIVER]);
    await service.server.setWaivers(accountsOf(SECOND_KEY));
    const before = service.node.sent.length;
    const lines = await service.submit(
      users(20, 2).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(lines.map(outcomeOf)).toEqual(Array(20).fill("success"));
    expect(new Set(waiversOf(service.node.sent.slice(before)))).toEqual(new Set([SECOND_WAIVER]));
    expect((await lanesOf(service)).get(WAIVER)?.owner).toBeUndefined();
  });

  it("may be set several times at once; a list that is not valid changes nothing", async () => {
    const service = await services.start();
    const { server } = service;
    await Promise.all(users(5).map(() => server.setWaivers(accountsOf(WAIVER_KEY, SECOND_KEY))));
    await expect(server.setWaivers([])).rejects.toThrow("waivers is empty");
    await expect(server.setWaivers(accountsOf(SECOND_KEY, SECOND_KEY))).rejects.toThrow("the same key twice");
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    await service.submit(
      users(40).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(service.node.sent).toHaveLength(40);
    await server.close();
    await server.setWaivers(accountsOf(WAIVER_KEY));
  });
});

describe("a lane whose account no replica has", () => {
  it("has no owner, and its queued work goes to a lane that works", async () => {
    const service = await services.start({ requestTimeoutMs: 50 }, { automine: false });
    await service.node.close();
    const lines = await service.submit(users(6).map((user) => innerOf(user)));
    expect(lines.map(outcomeOf)).toEqual(Array(6).fill("TIMEOUT/NOT_BROADCAST"));
    await service.server.close();
    await service.node.open();
    const next = services.closeAfterTest(
      await service.startReplica({ waivers: accountsOf(SECOND_KEY), requestTimeoutMs: 200_000 }),
    );
    await next.node.until(({ chain }) => chain.pending.length === 6);
    expect(new Set(waiversOf(next.node.sent))).toEqual(new Set([SECOND_WAIVER]));
    expect((await lanesOf(next)).get(WAIVER)).toMatchObject({ owner: undefined, state: "open", queued: 0 });
  });
});

describe("a lane that is drained", () => {
  it("takes nothing new, finishes what it has, and retires; opened again, it works", async () => {
    const service = await twoLanes({ automine: false });
    await service.submit(users(10).map((user) => innerOf(user)));
    expect(await setLaneState(service, WAIVER, "draining")).toBe(true);
    const later = service.submit(
      users(10, 20).map((user) => innerOf(user)),
      INCLUDED,
    );
    await service.until("select from submissions having count(*) filter (where state = 'broadcast') = 20");
    service.node.mine();
    await later;
    await service.until("select from lanes where waiver = $1 and state = 'retired'", [hexToBytes(WAIVER)]);
    expect(service.node.chain.executed).toHaveLength(20);
    // The replica does not take a lane for open once it has retired.
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain(`gas_waiver_lane_usable{waiver="${WAIVER}"} 0`);
    const nonce = service.node.chain.nonceOf(WAIVER);
    service.node.automine = true;
    await service.submit(
      users(10, 40).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(service.node.chain.nonceOf(WAIVER)).toBe(nonce);

    await setLaneState(service, WAIVER, "open");
    await setLaneState(service, SECOND_WAIVER, "stopped");
    await service.submit(
      users(10, 60).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(service.node.chain.nonceOf(WAIVER)).toBe(nonce + 10n);
  });

  it("sends what is queued before it retires if there is no other lane", async () => {
    const service = await services.start({}, { automine: false });
    // The lane cannot retire while this one waits for its block.
    await service.submit([innerOf(1)]);
    await setLaneState(service, WAIVER, "draining");
    expect((await service.submit([innerOf(2)])).map(outcomeOf)).toEqual(["success"]);
    service.node.mine();
    await service.until("select from lanes where state = 'retired'");
  });
});

describe("a lane that is stopped", () => {
  it("sends nothing until it is opened, and its queued work goes to the other lane", async () => {
    const service = await twoLanes();
    await setLaneState(service, WAIVER, "stopped");
    const before = service.node.chain.nonceOf(WAIVER);
    const lines = await service.submit(
      users(20).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(lines.map(outcomeOf)).toEqual(Array(20).fill("success"));
    expect((await lanesOf(service)).get(WAIVER)).toMatchObject({ state: "stopped", reason: "by a test" });
    expect(service.node.chain.nonceOf(WAIVER)).toBe(before);
    await setLaneState(service, WAIVER, "open");
    await setLaneState(service, SECOND_WAIVER, "stopped");
    await service.submit(
      users(10, 40).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(service.node.chain.nonceOf(WAIVER)).toBeGreaterThan(before);
  });

  it("cannot be the lane of a waiver that the store does not know", async () => {
    const service = await services.start();
    expect(await setLaneState(service, userAddress(1), "stopped")).toBe(false);
  });
});

describe("a waiver that is revoked", () => {
  it("has its lane's breaker opened, its work goes to the other lane, and a probe closes the breaker again", async () => {
    const service = await twoLanes();
    service.node.chain.revoked.add(WAIVER);
    // At least one of these senders goes to the lane that fails.
    const lines = await service.submit(
      users(20).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(lines.map(outcomeOf)).toEqual(Array(20).fill("success"));
    expect(service.node.chain.nonceOf(SECOND_WAIVER)).toBe(20n);
    await service.until("select from lanes where reason like '%is not a registered waiver%'");
    service.node.chain.revoked.clear();
    await setLaneState(service, SECOND_WAIVER, "stopped");
    const again = await service.submit(
      users(5, 40).map((user) => innerOf(user)),
      INCLUDED,
    );
    expect(again.map(outcomeOf)).toEqual(Array(5).fill("success"));
    expect(service.node.chain.nonceOf(WAIVER)).toBe(5n);
    expect((await lanesOf(service)).get(WAIVER)).toMatchObject({ broken: false, reason: undefined });
    expect(new Set(service.node.chain.executed)).toEqual(
      new Set([...users(20), ...users(5, 40)].map((user) => hashOf(innerOf(user)))),
    );
  });
});

describe("a lane whose sends get no answer from any node", () => {
  it("gets no new senders while another lane delivers", async () => {
    const service = await twoLanes();
    const isFirst = (raw: Hex) => waiversOf([raw])[0] === WAIVER;
    service.node.script = ({ raws }) =>
      raws.some(isFirst) ? { kind: "reset", carriedOut: false } : undefined;
    const work = service.submit(users(6).map((user) => innerOf(user)));
    await service.until("select from lanes where broken_until > now() and reason like 'no node answers%'");
    const later = users(6, 20).map((user) => innerOf(user));
    expect((await service.submit(later, INCLUDED)).map(outcomeOf)).toEqual(Array(6).fill("success"));
    const newWrappers = service.node.sent.filter((raw) =>
      later.some((inner) => raw.includes(inner.slice(2))),
    );
    expect(new Set(waiversOf(newWrappers))).toEqual(new Set([SECOND_WAIVER]));
    service.node.script = undefined;
    await work;
  });
});
