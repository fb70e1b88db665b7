// The order of a lane's queue: neither a flood nor a sender that waits for a nonce delays others (D30).
import { decodeInnerTx, decodeTransaction, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import {
  OTHER_API_KEY,
  outcomeOf,
  type PostOptions,
  type TestService,
  testServices,
} from "../support/testService.js";
import { hashOf, innerOf, userAddress } from "../support/user.js";

const services = testServices();
/** Time limits that no test reaches. */
const PATIENT = { nonceGapTimeoutMs: 300_000, requestTimeoutMs: 300_000, maxBatchSize: 400 };
const COUNT = 300;
const many = (innerAt: (i: number) => Hex) => Array.from({ length: COUNT }, (_, i) => innerAt(i));

const nonceOfInner = (raw: Hex) => decodeInnerTx(decodeTransaction(hexToBytes(raw)).data).nonce;
const allWait = `select from unfinished where is_waiting having count(*) = ${COUNT}`;

function submitQuietly(service: TestService, transactions: readonly Hex[], options: PostOptions = {}): void {
  service.post(JSON.stringify({ transactions }), options).catch(() => {});
}

describe("a flood of one key that fills the lane", () => {
  it.each([
    ["of one sender", (i: number) => innerOf(1, i)],
    ["of as many senders", (i: number) => innerOf(1 + i)],
  ])("%s stands behind the few transactions of another key", async (_, innerAt) => {
    const service = await services.start({ ...PATIENT, maxInFlight: 40 }, { automine: false });
    submitQuietly(service, many(innerAt));
    await service.until(
      "select from unfinished where state in ('signed', 'broadcast') having count(*) >= 38",
    );
    await service.until(`select from unfinished having count(*) = ${COUNT}`);
    const few = [900, 901, 902].map((user) => innerOf(user));
    submitQuietly(service, few, { headers: { authorization: `Bearer ${OTHER_API_KEY}` } });
    await service.until(`select from unfinished having count(*) = ${COUNT + few.length}`);
    service.node.automine = true;
    service.node.mine();
    await service.until(
      `select from submissions where state = 'included' having count(*) = ${COUNT + few.length}`,
    );
    const places = few.map((inner) => service.node.chain.executed.indexOf(hashOf(inner)));
    // The 40 in flight go first, and then as many as find room.
    expect(places.filter((place) => place >= 80)).toEqual([]);
  });
});

describe("transactions that wait for a missing nonce", () => {
  it.each([
    ["of one sender", (i: number) => innerOf(1, 1 + i)],
    ["of as many senders", (i: number) => innerOf(1 + i, 1)],
  ])("%s do not hold up another sender of the key", async (_, innerAt) => {
    const service = await services.start(PATIENT);
    submitQuietly(service, many(innerAt));
    await service.until(allWait);
    for (const user of [900, 901, 902]) {
      expect((await service.submit([innerOf(user)])).map(outcomeOf)).toEqual(["success"]);
    }
    expect(service.node.chain.executed).toEqual([900, 901, 902].map((user) => hashOf(innerOf(user))));
  });

  it("are all sent, in order, as soon as the missing one comes, also more of them than one step takes", async () => {
    const service = await services.start(PATIENT);
    submitQuietly(
      service,
      many((i) => innerOf(1, 1 + i)),
    );
    await service.until(allWait);
    const lines = await service.submit([innerOf(1, 0)]);
    expect(lines.map(outcomeOf)).toEqual(["success"]);
    await service.until(`select from submissions where state = 'included' having count(*) = ${COUNT + 1}`);
    expect(service.node.sent.map(nonceOfInner)).toEqual([...Array(COUNT + 1).keys()].map(BigInt));
  });

  it("are all sent when the missing one was included without the service", async () => {
    const service = await services.start(PATIENT);
    submitQuietly(
      service,
      many((i) => innerOf(1, 1 + i)),
    );
    await service.until(allWait);
    service.node.chain.setNonce(userAddress(1), 1n);
    await service.until(`select from submissions where state = 'included' having count(*) = ${COUNT}`);
    expect(service.node.sent.map(nonceOfInner)).toEqual([...Array(COUNT).keys()].map((i) => BigInt(1 + i)));
  });
});
