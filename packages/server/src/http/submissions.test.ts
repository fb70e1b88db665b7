import { describe, expect, it } from "vitest";
import { GOOD_HEADERS, OTHER_API_KEY, type TestService, testServices } from "../testing/TestService.js";
import { hashOf, innerOf, userAddress, WAIVER } from "../testing/user.js";

const services = testServices();

async function recordOf(service: TestService, id: string, headers = GOOD_HEADERS) {
  const reply = await service.call("GET", `/v1/submissions/${id}`, undefined, headers);
  return { status: reply.status, body: JSON.parse(reply.text) as Record<string, unknown> };
}

describe("GET /v1/submissions/{id} (D15, D17)", () => {
  it("tells what became of a submission, with its certainty", async () => {
    const service = await services.start({ requestTimeoutMs: 300 }, { automine: false });
    await service.node.close();
    const [line] = await service.submit([innerOf(1)]);
    const id = line?.id ?? "";
    const common = { id, txHash: hashOf(innerOf(1)), sender: userAddress(1), nonce: "0" };
    const queued = await recordOf(service, id);
    expect(queued.body).toMatchObject({ ...common, state: "queued", certainty: "not_broadcast" });
    expect(queued.body).not.toHaveProperty("wrapperHash");

    await service.node.open();
    await service.node.until(({ chain }) => chain.waiting.length === 1);
    await service.submit([innerOf(1)]);
    const wrapper = { waiver: WAIVER, waiverNonce: "0", wrapperHash: service.node.chain.waiting[0]?.hash };
    expect((await recordOf(service, id)).body).toMatchObject({
      ...common,
      ...wrapper,
      state: "broadcast",
      certainty: "broadcast",
    });

    service.node.chain.reverting.add(hashOf(innerOf(1)));
    service.node.mine();
    await service.submit([innerOf(1)], { query: "?wait=included" });
    expect((await recordOf(service, id)).body).toMatchObject({
      ...common,
      ...wrapper,
      state: "included",
      certainty: "broadcast",
      blockNumber: "1",
      gasUsed: "50000",
      reverted: true,
      error: { code: "BROADCAST_FAILED", reason: "REVERTED" },
    });
  });

  it("tells why it failed", async () => {
    const service = await services.start();
    service.node.chain.refused.set(hashOf(innerOf(1)), "TARGET_NOT_ALLOWED");
    const [line] = await service.submit([innerOf(1)]);
    expect((await recordOf(service, line?.id ?? "")).body).toMatchObject({
      state: "failed",
      certainty: "not_broadcast",
      error: { code: "BROADCAST_FAILED", reason: "NODE_REFUSED" },
    });
  });

  it("is 404 for what is not there, what was never accepted, and what is another key's", async () => {
    const service = await services.start();
    const [good, bad] = await service.submit([innerOf(1), "0x"]);
    const strange = ["01890a5d-ac96-774b-bcce-b302099a8057", "x", "%00", bad?.id ?? ""];
    const other = { ...GOOD_HEADERS, authorization: `Bearer ${OTHER_API_KEY}` };
    const answers = [
      ...(await Promise.all(strange.map((id) => recordOf(service, id)))),
      await recordOf(service, good?.id ?? "", other),
    ];
    for (const { status, body } of answers) {
      expect(status).toBe(404);
      expect(body).toMatchObject({ error: { code: "NOT_FOUND", reason: "NO_SUCH_SUBMISSION" } });
    }
    expect((await service.call("GET", `/v1/submissions/${good?.id}`)).status).toBe(401);
  });
});
