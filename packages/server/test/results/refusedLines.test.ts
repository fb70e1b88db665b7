// A refused line can be looked up by its id for a day: by its own key, on every replica, and in no list.
import { bytesToHex, parseSubmissionPage, type ResultLine } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { GOOD_HEADERS, OTHER_API_KEY, type TestService, testServices } from "../support/testService.js";
import { TestSocket } from "../support/testSocket.js";
import { hashOf, innerOf, TOKEN, TRANSFER, userAddress } from "../support/user.js";

const services = testServices();
const PATIENT = { timeout: 60_000, interval: 50 };
const OTHER_HEADERS = { ...GOOD_HEADERS, authorization: `Bearer ${OTHER_API_KEY}` };

async function recordOf(service: TestService, name: string, headers: Record<string, string> = GOOD_HEADERS) {
  const { status, text } = await service.call("GET", `/v1/submissions/${name}`, undefined, headers);
  return { status, body: JSON.parse(text) };
}

function errorOf(line: ResultLine | undefined) {
  if (line === undefined || line.success) throw new Error("the line is not refused");
  return line.error;
}

describe("a refused line", () => {
  it("has a record with its error and its transaction, for its own key, on every replica, and in no list", async () => {
    const service = await services.start();
    const replica = services.closeAfterTest(await service.startReplica());
    const paying = innerOf(1, 7, { gasPrice: 1n });
    const conflicting = innerOf(3, 0, { gasLimit: 90_000n });
    await service.node.close();
    const first = service.submit([innerOf(3)]);
    await service.until("select from submissions");
    const refused = await service.submit(["0x12", paying, conflicting]);
    await service.node.open();
    await first;
    const reasons = refused.map((line) => errorOf(line).reason);
    expect(reasons).toEqual(["MALFORMED_RLP", "NON_ZERO_GAS_PRICE", "NONCE_CONFLICT"]);

    const common = { state: "failed", refused: true, certainty: "not_broadcast" };
    const call = { target: bytesToHex(TOKEN), selector: bytesToHex(TRANSFER) };
    const transactions = [
      {},
      { txHash: hashOf(paying), sender: userAddress(1), nonce: "7", ...call },
      { txHash: hashOf(conflicting), sender: userAddress(3), nonce: "0", ...call },
    ];
    for (const [i, line] of refused.entries()) {
      const { id } = line;
      const failedAt = expect.stringMatching(/^\d{4}-.*Z$/);
      const record = { id, ...common, error: errorOf(line), ...transactions[i], failedAt };
      // This replica answers at once.
      const own = await recordOf(service, id.toUpperCase());
      expect(own).toEqual({ status: 200, body: record });
      expect((await recordOf(service, id, OTHER_HEADERS)).status).toBe(404);
      await expect.poll(() => recordOf(replica, id), PATIENT).toEqual(own);
      // From the table, too.
      await expect.poll(() => recordOf(service, id), PATIENT).toEqual(own);
      expect((await recordOf(replica, id, OTHER_HEADERS)).status).toBe(404);
    }
    expect((await recordOf(service, hashOf(paying))).status).toBe(404);
    const { text } = await service.call("GET", "/v1/submissions", undefined, GOOD_HEADERS);
    expect(parseSubmissionPage(JSON.parse(text)).submissions).toHaveLength(1);

    const socket = await TestSocket.open(replica);
    socket.send({ id: 1, watch: refused.map(({ id }) => id) });
    const frames = await socket.framesOfRequest();
    expect(frames.slice(0, -1)).toEqual(refused.map((line) => ({ request: 1, ...line })));
    socket.socket.close();
    const [, second] = refused;
    const ask = { jsonrpc: "2.0", id: 1, method: "pm_getSubmission", params: [second?.id] };
    const asked = { method: "POST", headers: GOOD_HEADERS, body: JSON.stringify(ask) };
    const answer = await fetch(`${service.url}/rpc/by-header`, asked);
    expect(await answer.json()).toMatchObject({ result: { id: second?.id, ...common } });
  });

  it("is known after a restart, and gives way to the submission that it became under an idempotency key", async () => {
    const service = await services.start();
    const keyed = { headers: { "idempotency-key": "rent" } };
    const [line, good] = await service.submit([innerOf(1, 0, { gasPrice: 1n }), innerOf(2)], keyed);
    const id = line?.id ?? "";
    const before = await recordOf(service, id);
    expect(before.status).toBe(200);
    await service.server.close();
    const again = services.closeAfterTest(await service.startReplica());
    expect(await recordOf(again, id)).toEqual(before);
    expect(await again.submit([innerOf(1, 0, { gasPrice: 1n }), innerOf(2)], keyed)).toEqual([line, good]);
    const record = JSON.stringify({ ...before.body, id: good?.id });
    for (const table of ["refusals_0", "refusals_1", "refusals_2"]) {
      await again.query(`insert into ${table} select $1, key_id, $2 from submissions`, [good?.id, record]);
    }
    expect((await recordOf(again, good?.id ?? "")).body).not.toHaveProperty("refused");
  });
});
