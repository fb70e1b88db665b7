// POST /v1/check: the dry run of a submit.
import { type CheckLine, type Hex, parseCheckLine } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { GOOD_HEADERS, OTHER_API_KEY, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, userAddress } from "../support/user.js";

const services = testServices();

const post = (service: TestService, transactions: readonly string[], headers: Record<string, string> = {}) =>
  service.call("POST", "/v1/check", JSON.stringify({ transactions }), { ...GOOD_HEADERS, ...headers });

async function check(service: TestService, transactions: readonly string[]): Promise<CheckLine[]> {
  const reply = await post(service, transactions);
  if (reply.status !== 200) throw new Error(`refused: ${reply.status} ${reply.text}`);
  return reply.text
    .trimEnd()
    .split("\n")
    .map((line) => parseCheckLine(JSON.parse(line)));
}

const outcomes = async (service: TestService, ...transactions: string[]) =>
  (await check(service, transactions)).map((line) =>
    line.success ? "would be accepted" : line.error.reason,
  );

describe("a check", () => {
  const shared = services.shared();

  it("answers a line for each transaction, in their order, with its hash or the rule that refuses it", async () => {
    const otherTarget = innerOf(1, 0, { to: new Uint8Array(20).fill(9) });
    const otherSelector = innerOf(1, 0, { data: new Uint8Array(4) });
    const priced = innerOf(1, 0, { gasPrice: 1n });
    const transactions = ["0x", priced, otherTarget, otherSelector, innerOf(1), "zz"];
    const lines = await check(shared(), transactions);
    expect(lines.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(
      lines.map((line) => (line.success ? line.txHash : `${line.error.code}/${line.error.reason}`)),
    ).toEqual([
      "PARSE_ERROR/EMPTY_TRANSACTION",
      "VALIDATION_FAILED/NON_ZERO_GAS_PRICE",
      "VALIDATION_FAILED/TARGET_NOT_ALLOWED",
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      hashOf(innerOf(1)),
      "PARSE_ERROR/INVALID_HEX",
    ]);
  });

  it("stores nothing and sends nothing to the node", async () => {
    expect(await outcomes(shared(), innerOf(2), innerOf(2, 1))).toEqual([
      "would be accepted",
      "would be accepted",
    ]);
    expect(await shared().rows()).toEqual([]);
    expect(shared().node.sent).toEqual([]);
  });

  it("checks the nonces and the balance of each sender's account", async () => {
    const { chain } = shared().node;
    chain.setNonce(userAddress(3), 5n);
    chain.balances.set(userAddress(4), 10n);
    const pay = (nonce: number, value: bigint) => innerOf(4, nonce, { value });
    expect(
      await outcomes(
        shared(),
        innerOf(3, 4),
        pay(1, 5n),
        innerOf(3, 6),
        pay(0, 6n),
        innerOf(3, 5),
        innerOf(5, 9),
      ),
    ).toEqual([
      "NONCE_TOO_LOW",
      "INSUFFICIENT_BALANCE",
      "would be accepted",
      "would be accepted",
      "would be accepted",
      "NONCE_GAP",
    ]);
  });

  it("refuses a malformed request whole, as a submit does", async () => {
    expect((await post(shared(), [])).status).toBe(400);
    expect((await post(shared(), Array(101).fill("0x"))).status).toBe(413);
    expect((await post(shared(), ["0x"], { authorization: "Bearer gw_test_nobody" })).status).toBe(401);
    const query = await shared().call("POST", "/v1/check?simulate=1", "{}", GOOD_HEADERS);
    expect(JSON.parse(query.text).error).toMatchObject({ reason: "MALFORMED_QUERY" });
  });
});

describe("a check beside other requests", () => {
  it("knows the submissions of every key, and recognizes a transaction that is one of them", async () => {
    const service = await services.start({}, { automine: false });
    const other = { headers: { authorization: `Bearer ${OTHER_API_KEY}` } };
    await service.submit([innerOf(1), innerOf(1, 1)], other);
    const rival = innerOf(1, 0, { gasLimit: 200_000n });
    expect(await outcomes(service, innerOf(1), rival, innerOf(1, 2), innerOf(1, 4))).toEqual([
      "would be accepted",
      "NONCE_CONFLICT",
      "would be accepted",
      "NONCE_GAP",
    ]);
    service.node.mine();
    await service.submit([innerOf(1, 1)], { query: "?wait=included" });
    await service.until("select from finished having count(*) = 2");
    expect(await outcomes(service, innerOf(1), rival, innerOf(1, 2))).toEqual([
      "would be accepted",
      "NONCE_TOO_LOW",
      "would be accepted",
    ]);
  });

  it("has a rate limit of its own, as high as that of submits, and gets its tokens back if nothing was checked", async () => {
    const service = await services.start({ ratePerSecond: 1, rateBurst: 100 });
    const reply = await post(service, Array(60).fill("0x"));
    expect([reply.status, reply.headers.ratelimit]).toEqual([200, expect.stringContaining("r=40;")]);
    expect((await post(service, Array(60).fill("0x"))).status).toBe(429);
    await service.node.close();
    expect((await post(service, Array(30).fill(innerOf(1)))).status).toBe(503);
    expect((await post(service, Array(30).fill("0x"))).status).toBe(200);
    const submitted = await service.post(JSON.stringify({ transactions: Array(100).fill("0x") }));
    expect(submitted.status).toBe(200);
  });

  it("waits behind no more than a few checks of another key, however many come at once", async () => {
    const service = await services.start();
    const nodeAnswer = deferred();
    service.node.script = ({ methods }) =>
      methods.includes("eth_getBalance") ? { kind: "later", after: nodeAnswer.promise } : undefined;
    let refused = 0;
    const full = new Promise<void>((resolve) => {
      for (let i = 0; i < 60; i++) {
        post(service, [innerOf(1)]).then(({ status }) => status === 503 && ++refused === 50 && resolve());
      }
    });
    await full;
    const headers = { authorization: `Bearer ${OTHER_API_KEY}` };
    const replies = [1, 2, 3].map(() => post(service, [innerOf(2)], headers));
    await service.call("GET", "/v1/health");
    nodeAnswer.resolve();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it("finds room beside the checks of another address under the same publishable key", async () => {
    const key = "gwp_test_page";
    const service = await services.start({ publicApiKeys: [key], trustedProxies: ["127.0.0.1"] });
    const from = (address: string) => ({ authorization: `Bearer ${key}`, "x-forwarded-for": address });
    const nodeAnswer = deferred();
    service.node.script = ({ methods }) =>
      methods.includes("eth_getBalance") ? { kind: "later", after: nodeAnswer.promise } : undefined;
    const refused: string[] = [];
    const full = new Promise<void>((resolve) => {
      for (let i = 0; i < 14; i++) {
        post(service, [innerOf(1)], from("192.0.2.1")).then(({ status, text }) => {
          if (status !== 200) refused.push(JSON.parse(text).error.reason);
          if (refused.length === 4) resolve();
        });
      }
    });
    await full;
    const replies = [1, 2].map(() => post(service, [innerOf(2)], from("192.0.2.2")));
    await service.call("GET", "/v1/health");
    nodeAnswer.resolve();
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(refused)).toEqual(new Set(["QUEUE_AT_CAPACITY"]));
  });

  it("holds up no lane where it reaches a limit of the node, which asks for silence", async () => {
    const service = await services.start();
    const limited = { kind: "answer", status: 429, body: "{}", headers: { "retry-after": "3600" } } as const;
    service.node.script = ({ methods }) => (methods.includes("eth_getBalance") ? limited : undefined);
    expect((await post(service, [innerOf(1)])).status).toBe(503);
    const askedAt = performance.now();
    expect(await service.submit([innerOf(1)], { query: "?wait=included" })).toMatchObject([
      { success: true },
    ]);
    // A node that asks for silence is asked again after 30 s.
    expect(performance.now() - askedAt).toBeLessThan(30_000);
  });

  it("is refused while the node cannot be reached, unless no transaction needs its sender's account", async () => {
    const service = await services.start();
    await service.node.close();
    const { status, text, headers } = await post(service, [innerOf(1)]);
    expect([status, headers["retry-after"]]).toEqual([503, "1"]);
    expect(JSON.parse(text).error).toMatchObject({ code: "UNAVAILABLE", reason: "CHAIN_UNAVAILABLE" });
    expect(await outcomes(service, "0x", innerOf(1, 0, { gasPrice: 1n }) as Hex)).toEqual([
      "EMPTY_TRANSACTION",
      "NON_ZERO_GAS_PRICE",
    ]);
  });
});
