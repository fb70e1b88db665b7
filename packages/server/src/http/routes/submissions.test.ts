import { gunzipSync } from "node:zlib";
import { bytesToHex, parseSubmissionPage } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import {
  GOOD_HEADERS,
  OTHER_API_KEY,
  type TestService,
  testServices,
} from "../../../test/support/testService.js";
import { hashOf, innerOf, TOKEN, TRANSFER, userAddress, WAIVER } from "../../../test/support/user.js";

const services = testServices();

async function recordOf(service: TestService, id: string, headers = GOOD_HEADERS) {
  const reply = await service.call("GET", `/v1/submissions/${id}`, undefined, headers);
  return { status: reply.status, body: JSON.parse(reply.text) as Record<string, unknown> };
}

describe("GET /v1/submissions/{id} (D15, D17)", () => {
  it("answers the record while queued, broadcast and included, with the certainty and the times", async () => {
    const service = await services.start({}, { automine: false });
    await service.node.close();
    const lines = service.submit([innerOf(1)]);
    const [{ id } = { id: "" }] = await service.until<{ id: string }>("select id from submissions");
    const call = { target: bytesToHex(TOKEN), selector: bytesToHex(TRANSFER) };
    const common = { id, txHash: hashOf(innerOf(1)), sender: userAddress(1), nonce: "0", ...call };
    const queued = await recordOf(service, id);
    expect(queued.body).toMatchObject({ ...common, state: "queued", certainty: "not_broadcast" });
    expect(queued.body).not.toHaveProperty("wrapperHash");

    await service.node.open();
    expect(await lines).toMatchObject([{ id, success: true }]);
    const wrapper = { waiver: WAIVER, waiverNonce: "0", wrapperHash: service.node.chain.pending[0]?.hash };
    expect((await recordOf(service, id)).body).toMatchObject({
      ...common,
      ...wrapper,
      state: "broadcast",
      certainty: "broadcast",
    });

    service.node.chain.reverting.add(hashOf(innerOf(1)));
    service.node.mine();
    await service.submit([innerOf(1)], { query: "?wait=included" });
    const { body } = await recordOf(service, id);
    expect(body).toMatchObject({
      ...common,
      ...wrapper,
      state: "included",
      certainty: "broadcast",
      blockNumber: "1",
      gasUsed: "50000",
      reverted: true,
      error: { code: "BROADCAST_FAILED", reason: "REVERTED" },
    });
    const { acceptedAt, signedAt, broadcastAt, includedAt, finalAt } = body;
    const times = [acceptedAt, signedAt, broadcastAt, includedAt, finalAt];
    expect(times.map((time) => new Date(String(time)).toISOString())).toEqual(times);
    expect([...times].sort()).toEqual(times);
  });

  it("has the reason of a failure", async () => {
    const service = await services.start();
    service.node.chain.refused.set(hashOf(innerOf(1)), "TARGET_NOT_ALLOWED");
    const [line] = await service.submit([innerOf(1)]);
    const { body } = await recordOf(service, line?.id ?? "");
    expect(body).toMatchObject({
      state: "failed",
      certainty: "not_broadcast",
      error: { code: "VALIDATION_FAILED", reason: "TARGET_NOT_ALLOWED" },
    });
    expect(String(body.failedAt) >= String(body.acceptedAt)).toBe(true);
    expect(body).not.toHaveProperty("finalAt");
  });

  it("answers another key that has sent the same transaction, and so has the same id (D18)", async () => {
    const service = await services.start();
    const [first] = await service.submit([innerOf(1)]);
    const id = first?.id ?? "";
    const other = { ...GOOD_HEADERS, authorization: `Bearer ${OTHER_API_KEY}` };
    expect((await recordOf(service, id, other)).status).toBe(404);
    const [again] = await service.submit([innerOf(1)], { headers: other });
    expect(again).toEqual(first);
    // The record changes until its transaction is in a final block.
    await service.submit([innerOf(1)], { query: "?wait=included" });
    expect(await recordOf(service, id, other)).toEqual(await recordOf(service, id));
    const list = await service.call("GET", "/v1/submissions", undefined, other);
    expect(parseSubmissionPage(JSON.parse(list.text)).submissions).toEqual([]);
  });

  it("answers 404 for unknown ids, and submissions of another key", async () => {
    const service = await services.start();
    const [good] = await service.submit([innerOf(1)]);
    const unknownIds = ["01890a5d-ac96-774b-bcce-b302099a8057", "x", "%00", `0X${"AB".repeat(32)}`];
    const other = { ...GOOD_HEADERS, authorization: `Bearer ${OTHER_API_KEY}` };
    const answers = [
      ...(await Promise.all(unknownIds.map((id) => recordOf(service, id)))),
      await recordOf(service, good?.id ?? "", other),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect(body).toMatchObject({ error: { code: "NOT_FOUND", reason: "NO_SUCH_SUBMISSION" } });
    }
    expect((await service.call("GET", `/v1/submissions/${good?.id}`)).status).toBe(401);
  });
});

const OTHER_HEADERS = { ...GOOD_HEADERS, authorization: `Bearer ${OTHER_API_KEY}` };

async function listOf(service: TestService, query = "", headers = GOOD_HEADERS) {
  const reply = await service.call("GET", `/v1/submissions${query}`, undefined, headers);
  expect(reply.status, reply.text).toBe(200);
  return parseSubmissionPage(JSON.parse(reply.text));
}

describe("GET /v1/submissions", () => {
  it("lists the records of a key's own submissions, newest first, in pages", async () => {
    const service = await services.start();
    const batch = [0, 1, 2].map((nonce) => innerOf(1, nonce));
    const lines = await service.submit([...batch, innerOf(2), "0x"], { query: "?wait=included" });
    const [other] = await service.submit([innerOf(3)], { headers: OTHER_HEADERS });
    const ids = lines.slice(0, 4).map(({ id }) => id);

    const { submissions, next } = await listOf(service);
    expect(submissions.map(({ id }) => id)).toEqual([...ids].sort().reverse());
    expect(next).toBeUndefined();
    for (const record of submissions) expect((await recordOf(service, record.id)).body).toEqual(record);
    expect((await listOf(service, "", OTHER_HEADERS)).submissions.map(({ id }) => id)).toEqual([other?.id]);

    const first = await listOf(service, "?limit=3");
    expect(first.submissions).toEqual(submissions.slice(0, 3));
    const rest = await listOf(service, `?limit=3&cursor=${first.next}`);
    expect(rest).toEqual({ submissions: submissions.slice(3) });
    expect((await listOf(service, `?limit=3&cursor=${first.next}`, OTHER_HEADERS)).submissions).toEqual([]);
  });

  it("filters, by one condition or several", async () => {
    const service = await services.start();
    service.node.chain.refused.set(hashOf(innerOf(2)), "TARGET_NOT_ALLOWED");
    const before = new Date().toISOString();
    const lines = await service.submit([innerOf(1), innerOf(2), innerOf(1, 1)], { query: "?wait=included" });
    const [a = "", b = "", c = ""] = lines.map(({ id }) => id);
    const found = async (query: string) =>
      (await listOf(service, query)).submissions.map(({ id }) => id).sort();
    expect(await found(`?sender=${userAddress(1)}`)).toEqual([a, c]);
    expect(await found(`?txHash=${hashOf(innerOf(2))}`)).toEqual([b]);
    expect(await found("?state=failed")).toEqual([b]);
    expect(await found("?state=failed&state=included,queued")).toEqual([a, b, c]);
    expect(await found(`?sender=${userAddress(1)}&state=failed`)).toEqual([]);
    expect(await found(`?from=${before}`)).toEqual([a, b, c]);
    expect(await found(`?to=${before}`)).toEqual([]);
  });

  it("is compressed for clients that ask for it", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], { query: "?wait=included" });
    const headers = { ...GOOD_HEADERS, "accept-encoding": "gzip" };
    const reply = await service.open("GET", "/v1/submissions", undefined, headers);
    expect(reply.headers).toMatchObject({ "content-encoding": "gzip", "cache-control": "no-store" });
    const text = gunzipSync(Buffer.concat(await reply.toArray())).toString();
    expect(JSON.parse(text)).toEqual(await listOf(service));
  });

  it("refuses a malformed query, a missing key, and other methods", async () => {
    const service = await services.start();
    for (const query of ["?sender=0x12", "?cursor=AAAA", "?cursor=____________________", "?Limit=1"]) {
      const reply = await service.call("GET", `/v1/submissions${query}`, undefined, GOOD_HEADERS);
      expect(reply.status).toBe(400);
      const { error } = JSON.parse(reply.text);
      expect(error).toMatchObject({ code: "INVALID_REQUEST", reason: "MALFORMED_QUERY" });
      expect(error.message).toContain(query.slice(1, query.indexOf("=")));
    }
    expect((await service.call("GET", "/v1/submissions")).status).toBe(401);
    expect((await service.call("POST", "/v1/submissions", "{}", GOOD_HEADERS)).status).toBe(405);
  });
});
