// Idempotency-Key (D18): a repeated request is the same request, on any replica and after any change.
import type { ResultLine } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { createConnection } from "../../src/store/database/database.js";
import { deferred } from "../support/deferred.js";
import { OTHER_API_KEY, outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, TOKEN } from "../support/user.js";

const services = testServices();
const named = (name: string) => ({ headers: { "idempotency-key": name } });
const included = (name: string) => ({ ...named(name), query: "?wait=included" });
const OTHER = { authorization: `Bearer ${OTHER_API_KEY}` };

/** @returns the hash of each execution of an InnerTx. */
const executed = ({ node }: TestService) => [...node.chain.executed].sort();
const idsOf = (lines: readonly ResultLine[]) => lines.map(({ id }) => id);

describe("a request that is repeated under its key", () => {
  it("gets the same ids and outcomes for accepted and for refused transactions", async () => {
    const service = await services.start();
    const batch = [
      innerOf(1),
      "0x",
      innerOf(1, 1),
      innerOf(2, 0, { gasPrice: 1n }),
      innerOf(1, 0, { value: 1n }),
    ];
    const first = await service.submit(batch, included("a"));
    expect(first.map(outcomeOf)).toEqual([
      "success",
      "PARSE_ERROR/EMPTY_TRANSACTION",
      "success",
      "VALIDATION_FAILED/NON_ZERO_GAS_PRICE",
      "VALIDATION_FAILED/NONCE_CONFLICT",
    ]);
    expect(await service.submit(batch, included("a"))).toEqual(first);
    expect(await service.submit(batch, named("a"))).toEqual(first);
    expect(executed(service)).toEqual([innerOf(1), innerOf(1, 1)].map(hashOf).sort());

    // Under another key it is another request: accepted transactions are known, refused ones are validated again.
    const other = await service.submit(batch, named("b"));
    expect([other[0]?.id, other[2]?.id]).toEqual([first[0]?.id, first[2]?.id]);
    expect(other[1]?.id).not.toBe(first[1]?.id);
    expect(outcomeOf(other[4])).toBe("VALIDATION_FAILED/NONCE_TOO_LOW");
    expect(other[4]).toMatchObject({ error: { details: { nonce: "0", expected: "1" } } });
    expect(await service.submit(batch, named("b"))).toEqual(other);
  });

  it("does not submit failed transactions again, as it would without the key", async () => {
    const service = await services.start();
    service.node.chain.refused.set(hashOf(innerOf(1)), "TARGET_NOT_ALLOWED");
    const first = await service.submit([innerOf(1)], named("a"));
    expect(first.map(outcomeOf)).toEqual(["VALIDATION_FAILED/TARGET_NOT_ALLOWED"]);
    service.node.chain.refused.clear();
    expect(await service.submit([innerOf(1)], included("a"))).toEqual(first);
    expect(executed(service)).toEqual([]);
    const again = await service.submit([innerOf(1)], included("b"));
    expect(again.map(outcomeOf)).toEqual(["success"]);
    expect(idsOf(again)).not.toEqual(idsOf(first));
    expect(await service.submit([innerOf(1)], included("a"))).toEqual(first);
  });

  it("gets the earlier decisions from a service that would decide differently now", async () => {
    const service = await services.start({ allowedTargets: [{ address: TOKEN }] });
    const batch = [innerOf(1), innerOf(2, 0, { to: new Uint8Array(20).fill(7) })];
    const first = await service.submit(batch, included("a"));
    expect(first.map(outcomeOf)).toEqual(["success", "VALIDATION_FAILED/TARGET_NOT_ALLOWED"]);
    const other = { allowedTargets: [{ address: new Uint8Array(20).fill(7) }], maxBatchSize: 2 };
    const changed = services.closeAfterTest(await service.startReplica(other));
    expect(await changed.submit(batch, included("a"))).toEqual(first);
  });

  it("waits for submissions in flight", async () => {
    const service = await services.start();
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const first = service.submit([innerOf(1)], named("a"));
    await service.node.until(({ sent }) => sent.length === 1);
    const second = service.submit([innerOf(1)], named("a"));
    await service.until("select from keyed_requests");
    nodeAnswer.resolve();
    expect(await second).toEqual(await first);
    expect(service.node.sent).toHaveLength(1);
  });

  it("needs no room in the queue, and counts towards the rate", async () => {
    const limits = { queueCapacity: 20, keyQueueShare: 1, ratePerSecond: 1, rateBurst: 41, maxBatchSize: 20 };
    const service = await services.start({ ...limits, requestTimeoutMs: 200 });
    await service.node.close();
    const batch = Array.from({ length: 20 }, (_, i) => innerOf(1 + i));
    const [first] = await service.submit(batch, named("a"));
    const full = await service.post(JSON.stringify({ transactions: [innerOf(30)] }), named("b"));
    expect(full.status).toBe(503);
    const [second] = await service.submit(batch, named("a"));
    expect(second?.id).toBe(first?.id);
    const reply = await service.post(JSON.stringify({ transactions: batch }), named("a"));
    expect(reply.status).toBe(429);
  });
});

describe("an idempotency key", () => {
  it("holds for the same transactions only, and belongs to one API key", async () => {
    const service = await services.start();
    const [mine] = await service.submit(["0x12", innerOf(1)], named("a"));
    for (const transactions of [
      [innerOf(1), "0x12"],
      ["0x12"],
      ["0x12", innerOf(1), "0x"],
      ["0x1", `2${innerOf(1)}`],
    ]) {
      const reply = await service.post(JSON.stringify({ transactions }), named("a"));
      expect(reply.status).toBe(422);
      const { error } = JSON.parse(reply.text);
      expect(error).toMatchObject({ code: "INVALID_REQUEST", reason: "IDEMPOTENCY_KEY_REUSED" });
      // The first of those that were accepted, so that the caller finds what was paid under the key.
      expect(error.details).toEqual({ retry: "corrected", txHash: hashOf(innerOf(1)) });
      expect(error.message).toContain(error.details.txHash);
    }
    const headers = { ...named("a").headers, ...OTHER };
    const [theirs] = await service.submit(["0x12", innerOf(2)], { headers });
    expect(theirs?.id).not.toBe(mine?.id);
    expect(await service.query("select from keyed_requests")).toHaveLength(2);
  });

  it("says when nothing was accepted under it, so that the caller pays under another one", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], { query: "?wait=included" });
    const late = await service.submit([innerOf(1, 0, { value: 1n })], named("a"));
    expect(late.map(outcomeOf)).toEqual(["VALIDATION_FAILED/NONCE_TOO_LOW"]);
    const reply = await service.post(JSON.stringify({ transactions: [innerOf(1, 1)] }), named("a"));
    const { error } = JSON.parse(reply.text);
    expect(error).toMatchObject({ reason: "IDEMPOTENCY_KEY_REUSED", details: { retry: "corrected" } });
    expect(error.message).toContain("none was accepted: use another key");
  });

  it("leaves nothing in the store if no transaction was valid", async () => {
    const service = await services.start();
    for (const transactions of [["0x"], Array(60).fill("0x"), [innerOf(1, 0, { gasPrice: 1n })]]) {
      await service.submit(transactions, named("a"));
      expect(await service.query("select from keyed_requests")).toEqual([]);
    }
    expect((await service.submit([innerOf(2)], named("a"))).map(outcomeOf)).toEqual(["success"]);
  });

  it("is kept at a rate alone where it accepts nothing: no cap of the API key bounds such requests", async () => {
    const service = await services.start({ ratePerSecond: 100_000, rateBurst: 100_000, maxBatchSize: 1_000 });
    const batch = [innerOf(1), ...Array(999).fill("0x")];
    await service.submit(batch, named("first"));
    for (let i = 0; i < 5; i++) await service.submit(batch, named(`${i}`));
    const refused = await service.post(JSON.stringify({ transactions: batch }), named("beyond"));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(40);
    expect(await service.query("select from keyed_requests")).toHaveLength(6);
    // A request that is kept can be repeated, and new transactions are accepted.
    await service.submit(batch, named("first"));
    expect(await service.submit([innerOf(2)], named("beyond"))).toHaveLength(1);
  });

  it("repeats refusals that were decided before the first transaction that was accepted", async () => {
    const service = await services.start();
    const batch = [...Array(30).fill("0x"), innerOf(1), ...Array(30).fill("0x")];
    const first = await service.submit(batch, named("a"));
    expect(first[30] && outcomeOf(first[30])).toBe("success");
    expect(await service.submit(batch, named("a"))).toEqual(first);
  });

  it("stays unused if the request was refused whole", async () => {
    const service = await services.start({ ratePerSecond: 1, rateBurst: 20, maxBatchSize: 20 });
    const transactions = [innerOf(1), ...Array(19).fill("0x")];
    await service.submit(Array(20).fill("0x"));
    const refused = await service.post(JSON.stringify({ transactions }), named("a"));
    expect(refused.status).toBe(429);
    const empty = await service.post('{"transactions":[]}', named("a"));
    expect(empty.status).toBe(400);
    expect(await service.query("select from keyed_requests")).toEqual([]);
  });

  it("does not spare the API key's rate: every examined request counts, refused or not", async () => {
    const service = await services.start({ ratePerSecond: 1, rateBurst: 30, maxBatchSize: 20 });
    const post = (first: number) =>
      service.post(
        JSON.stringify({ transactions: Array.from({ length: 14 }, (_, i) => innerOf(first + i)) }),
        named("a"),
      );
    // Both requests come before one of them is decided, so both are examined.
    const replies = await Promise.all([post(100), post(200)]);
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect((await post(300)).status).toBe(429);
  });

  it("is refused if it is malformed", async () => {
    const service = await services.start();
    for (const name of ["", " ", "a b", "a".repeat(256)]) {
      const reply = await service.post(JSON.stringify({ transactions: [innerOf(1)] }), named(name));
      expect(reply.status).toBe(400);
      expect(JSON.parse(reply.text).error.reason).toBe("INVALID_IDEMPOTENCY_KEY");
    }
    expect(await service.rows()).toEqual([]);
  });

  it("can be used again after its retention", async () => {
    const service = await services.start({ idempotencyMs: 60_000 });
    const batch = [innerOf(1), "0x"];
    const first = await service.submit(batch, named("a"));
    await service.query("update keyed_requests set created_at = created_at - interval '30 seconds'");
    expect(await service.submit(batch, named("a"))).toEqual(first);
    await service.query("update keyed_requests set created_at = created_at - interval '31 seconds'");
    const other = ["0x", innerOf(2)];
    const later = await service.submit(other, named("a"));
    expect(idsOf(later)).not.toContain(first[1]?.id);
    expect(await service.submit(other, named("a"))).toEqual(later);
  });
});

describe("concurrent requests under one key", () => {
  it("are one request, on two replicas, and each gets every line", async () => {
    const service = await services.start();
    const other = services.closeAfterTest(await service.startReplica());
    const batch = Array.from({ length: 60 }, (_, i) => (i % 10 === 3 ? `0x${i}` : innerOf(1 + i)));
    const submit = (i: number) => (i % 2 === 0 ? service : other).submit(batch, included("a"));
    const [first = [], ...repetitions] = await Promise.all(Array.from({ length: 8 }, (_, i) => submit(i)));
    expect(first.map(outcomeOf).filter((outcome) => outcome === "success")).toHaveLength(54);
    for (const lines of repetitions) expect(lines).toEqual(first);
    expect(new Set(idsOf(first)).size).toBe(60);
    expect(executed(service)).toHaveLength(54);
    expect(new Set(executed(service)).size).toBe(54);
  });

  it("with different transactions: one is accepted, the others are refused", async () => {
    const service = await services.start();
    const other = services.closeAfterTest(await service.startReplica());
    const submit = (i: number) => {
      const body = JSON.stringify({ transactions: [innerOf(1 + i), innerOf(21 + i)] });
      return (i % 2 === 0 ? service : other).post(body, included("a"));
    };
    const replies = await Promise.all(Array.from({ length: 8 }, (_, i) => submit(i)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(422)]);
    expect(executed(service)).toHaveLength(2);
  });
});

describe("requests under one idempotency key that wait for each other", () => {
  it("leave a connection to another API key, which does not wait for any of them", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], named("a"));
    await service.query("update keyed_requests set decided = 0");
    const holder = createConnection({ connectionString: service.databaseUrl });
    await holder.connect();
    await holder.query("begin");
    await holder.query("select from keyed_requests for update");
    const waiting = Array.from({ length: 6 }, () => service.submit([innerOf(1)], named("a")));
    await service.until("select from pg_locks where not granted having count(*) >= 2");
    const waits = () => service.query("select waitstart::text from pg_locks where not granted");
    const before = await waits();
    const headers = { ...named("a").headers, ...OTHER };
    expect((await service.submit([innerOf(2)], { headers })).map(outcomeOf)).toEqual(["success"]);
    // Each wait ends after three seconds, and begins again.
    expect(await waits()).toEqual(expect.arrayContaining(before));
    await holder.query("rollback");
    await holder.end();
    await Promise.all(waiting);
  });
});
