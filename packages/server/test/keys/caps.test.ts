// Daily caps of API keys (D25), over two services on one database.
import { afterEach, describe, expect, it } from "vitest";
import { type OpenKeyAdmin, openKeyAdmin } from "../../src/keys/keyAdmin.js";
import { startServiceProcess } from "../support/serviceProcess.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices();
const admins: OpenKeyAdmin[] = [];
afterEach(async () => {
  for (const admin of admins.splice(0)) await admin.close();
});

const authorizedBy = (key: string) => ({
  headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
});
const CAPPED = "RATE_LIMITED/CAP_EXCEEDED";

/** Starts two services on one database, with a key of these caps that both know. */
async function startTwoServices(caps: object, node = {}) {
  const first = await services.start({ apiKeys: [] }, node);
  const second = services.closeAfterTest(await first.startReplica());
  const admin = await openKeyAdmin({ databaseUrl: first.databaseUrl });
  admins.push(admin);
  const { key, record } = await admin.create("tests", {
    label: "capped",
    caps: { senderTransactions: null, senderGas: null, ...caps },
  });
  for (const service of [first, second]) await untilKnown(service, key);
  return { first, second, admin, key, id: record.id };
}

async function untilKnown(service: TestService, key: string): Promise<void> {
  while ((await service.call("GET", "/v1/submissions", undefined, authorizedBy(key).headers)).status === 401);
}

const innersOfUsers = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => innerOf(from + i));

describe("a cap of N transactions", () => {
  it("passes exactly N, however many clients ask any replica at once", async () => {
    const { first, second, key } = await startTwoServices({ transactions: 30 }, { automine: false });
    const answers = Array.from({ length: 12 }, (_, i) =>
      (i % 2 ? first : second).submit(innersOfUsers(1 + 5 * i, 5), authorizedBy(key)),
    );
    const outcomes = (await Promise.all(answers)).flat().map(outcomeOf);
    expect(outcomes.filter((outcome) => outcome === "success")).toHaveLength(30);
    expect(outcomes.filter((outcome) => outcome === CAPPED)).toHaveLength(30);
    const [line] = await second.submit([innerOf(200)], authorizedBy(key));
    expect(line).toMatchObject({
      error: {
        message: expect.stringMatching(
          /^the daily cap of this API key is 30 transactions: 30 used, 1 asked; the day ends at \d{4}-\d\d-\d\dT00:00:00.000Z$/,
        ),
      },
    });
  });

  it("gets back what failed submissions reserved, on any replica", async () => {
    const { first, second, key } = await startTwoServices({ transactions: 2, gas: 200_000 });
    first.node.onSends({
      kind: "error",
      of: () => ({ code: -32_000, message: "insufficient funds for gas * price + value" }),
    });
    for (const [i, service] of [first, second, first].entries()) {
      const outcomes = (await service.submit(innersOfUsers(1 + 2 * i, 2), authorizedBy(key))).map(outcomeOf);
      expect(outcomes).toEqual(Array(2).fill("VALIDATION_FAILED/INSUFFICIENT_BALANCE"));
    }
    first.node.script = undefined;
    const outcomes = (await second.submit(innersOfUsers(1, 3), authorizedBy(key))).map(outcomeOf);
    expect(outcomes).toEqual(["success", "success", CAPPED]);
  });

  it("counts a nonce ahead of its turn when its turn comes, and refuses it then if others have the rest", async () => {
    const { first, second, key, id } = await startTwoServices({ transactions: 2 }, { automine: false });
    const ahead = first.submit([innerOf(1, 1)], authorizedBy(key));
    await first.until("select from unfinished where key_id = $1 and is_waiting", [id]);
    for (const inner of [innerOf(2), innerOf(1)])
      expect((await second.submit([inner], authorizedBy(key))).map(outcomeOf)).toEqual(["success"]);
    const lines = await ahead;
    expect(lines.map(outcomeOf)).toEqual([CAPPED]);
    const path = `/v1/submissions/${lines[0]?.id}`;
    const { text } = await second.call("GET", path, undefined, authorizedBy(key).headers);
    expect(JSON.parse(text)).toMatchObject({ state: "failed", error: { reason: "CAP_EXCEEDED" } });
    const use = "select cap_day is not null as is_reserved from unfinished where key_id = $1";
    expect(await first.query(use, [id])).toEqual([{ is_reserved: true }, { is_reserved: true }]);
  });

  it("holds for requests with an Idempotency-Key, and repetitions count nothing", async () => {
    const { first, second, key } = await startTwoServices({ transactions: 2 });
    const named = { headers: { ...authorizedBy(key).headers, "idempotency-key": "a-request" } };
    const expected = ["success", "success", CAPPED];
    expect((await first.submit(innersOfUsers(1, 3), named)).map(outcomeOf)).toEqual(expected);
    expect((await second.submit(innersOfUsers(1, 3), named)).map(outcomeOf)).toEqual(expected);
    expect((await second.submit(innersOfUsers(9, 1), authorizedBy(key))).map(outcomeOf)).toEqual([CAPPED]);
  });

  it("counts the gas that was used in the end, and changes with the key", async () => {
    const { first, second, admin, key, id } = await startTwoServices({ gas: 150_000 });
    // Each reserves 100,000 gas and uses less.
    const [one, other] = await first.submit(innersOfUsers(1, 2), {
      ...authorizedBy(key),
      query: "?wait=included",
    });
    expect([one, other].map(outcomeOf)).toEqual(["success", CAPPED]);
    expect((await second.submit([innerOf(2)], authorizedBy(key))).map(outcomeOf)).toEqual(["success"]);
    const { today } = await admin.show(id);
    expect(today).toMatchObject({ transactions: 2, ends: expect.stringMatching(/T00:00:00.000Z$/) });
    await admin.update("tests", id, { caps: null });
    let outcome = CAPPED;
    for (let user = 10; outcome === CAPPED; user++)
      outcome = outcomeOf((await second.submit([innerOf(user), innerOf(user, 1)], authorizedBy(key)))[1]);
    expect(outcome).toBe("success");
  });
});

describe("a service that is killed while it accepts", () => {
  it("reserves exactly what was accepted", async () => {
    const { first, admin, key, id } = await startTwoServices(
      { transactions: 1_000_000 },
      { automine: false },
    );
    const databaseUrl = `${first.databaseUrl}&application_name=killed`;
    const child = await startServiceProcess(databaseUrl, first.node.url, { apiKeys: [] });
    const connections = () => first.query("select from pg_stat_activity where application_name = 'killed'");
    expect(await connections()).not.toEqual([]);
    const post = (from: number) => child.post(innersOfUsers(from, 5), authorizedBy(key)).catch(() => {});
    const requests = Array.from({ length: 40 }, (_, i) => post(1 + 5 * i));
    await first.until("select from unfinished where key_id = $1 limit 1", [id]);
    await child.kill();
    await Promise.all(requests);
    // The database may still finish the write of the killed service.
    while ((await connections()).length > 0);
    const [accepted] = await first.query<{ count: number }>(
      "select count(*)::int as count from unfinished where key_id = $1",
      [id],
    );
    const count = accepted?.count ?? 0;
    expect(count).toBeGreaterThan(0);
    const [use] = await first.query<{ transactions: string; gas: string }>(
      `select sum(transactions)::text as transactions, sum(gas)::text as gas from (
         select transactions, gas from cap_usage where key_id = $1 and sender = ''
         union all select transactions, gas from cap_reserved where key_id = $1) used`,
      [id],
    );
    expect(use).toEqual({ transactions: `${count}`, gas: `${count * 100_000}` });
    await admin.update("tests", id, { caps: { transactions: count + 1 }, limits: { maxBatchSize: 2 } });
    const three = JSON.stringify({ transactions: ["0x", "0x", "0x"] });
    while ((await first.post(three, authorizedBy(key))).status !== 413);
    const outcomes = (await first.submit([innerOf(900), innerOf(901)], authorizedBy(key))).map(outcomeOf);
    expect(outcomes).toEqual(["success", CAPPED]);
  });
});

describe("the rest of a key's caps", () => {
  it("is shown by GET /v1/policy, and a check finds what would not fit, without reserving", async () => {
    const caps = { transactions: 4, gas: "450000", senderTransactions: 2 };
    const { first, second, key } = await startTwoServices(caps, { automine: false });
    const policy = async () =>
      JSON.parse((await second.call("GET", "/v1/policy", undefined, authorizedBy(key).headers)).text);
    const check = async (...transactions: string[]) => {
      const body = JSON.stringify({ transactions });
      const { text } = await second.call("POST", "/v1/check", body, authorizedBy(key).headers);
      const lines = text.trimEnd().split("\n");
      return lines.map((line) => JSON.parse(line).error?.reason ?? "would be accepted");
    };
    const all = [
      innerOf(1),
      innerOf(1, 1),
      innerOf(1, 2),
      innerOf(1, 3),
      innerOf(2),
      innerOf(3, 0),
      innerOf(4),
    ];
    for (let i = 0; i < 2; i++) {
      expect(await check(...all)).toEqual([
        "would be accepted",
        "would be accepted",
        "CAP_EXCEEDED",
        // In a submit, both would exceed the sender's cap.
        "CAP_EXCEEDED",
        "would be accepted",
        "would be accepted",
        "CAP_EXCEEDED",
      ]);
    }
    await first.submit([innerOf(1), innerOf(1, 1)], authorizedBy(key));
    expect((await policy()).caps).toEqual({
      ends: expect.stringMatching(/T00:00:00\.000Z$/),
      transactions: { limit: 4, left: 2 },
      gas: { limit: "450000", left: "250000" },
      senderTransactions: { limit: 2 },
    });
    // A repeated transaction is the same submission. A transaction behind one that does not fit leaves a gap.
    const big = innerOf(2, 0, { gasLimit: 260_000n });
    expect(await check(innerOf(1), big, innerOf(2, 1), innerOf(3))).toEqual([
      "would be accepted",
      "CAP_EXCEEDED",
      "NONCE_GAP",
      "would be accepted",
    ]);
    // A transaction that does not fit keeps no other one out. Its repetition does not fit either.
    const [large, larger] = [innerOf(5, 0, { gasLimit: 260_000n }), innerOf(5, 0, { gasLimit: 300_000n })];
    const light = innerOf(5, 0, { gasLimit: 90_000n });
    const rivals = [larger, large, larger, light, light, innerOf(5, 0, { gasLimit: 80_000n })];
    const verdicts = await check(...rivals);
    expect(verdicts).toEqual([
      ...Array(3).fill("CAP_EXCEEDED"),
      ...Array(2).fill("would be accepted"),
      "NONCE_CONFLICT",
    ]);
    const lines = (await first.submit(rivals, authorizedBy(key))).map((line) =>
      line.success ? "would be accepted" : line.error.reason,
    );
    expect(lines).toEqual(verdicts);
  });
});
