// The capacity of the queue, and the share of an API key (D21, D22).
import { describe, expect, it } from "vitest";
import { OTHER_API_KEY, outcomeOf, testServices } from "../support/testService.js";
import { innerOf } from "../support/user.js";

const services = testServices();
const body = (...transactions: string[]) => JSON.stringify({ transactions });

describe("a full queue", () => {
  it("refuses a request whole, by the key's share or the capacity, and accepts it later", async () => {
    const service = await services.start({ queueCapacity: 4, keyQueueShare: 0.5, requestTimeoutMs: 100 });
    await service.node.close();
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["TIMEOUT/NOT_BROADCAST"]);

    const share = await service.post(body(innerOf(2), innerOf(3)));
    expect(share.status).toBe(503);
    expect(share.headers["retry-after"]).toBe("1");
    expect(JSON.parse(share.text).error).toMatchObject({ code: "QUEUE_FULL", reason: "KEY_SHARE_EXHAUSTED" });

    const other = { headers: { authorization: `Bearer ${OTHER_API_KEY}` } };
    await service.submit([innerOf(4), innerOf(5)], other);
    await service.submit([innerOf(6)]);
    const full = await service.post(body(innerOf(7)), other);
    expect(full.status).toBe(503);
    expect(full.headers["retry-after"]).toBe("1");
    expect(JSON.parse(full.text).error).toMatchObject({ code: "QUEUE_FULL", reason: "QUEUE_AT_CAPACITY" });
    expect(await service.rows()).toHaveLength(4);

    await service.node.open();
    await service.node.until(({ chain }) => chain.executed.length === 4);
    const patient = await service.startReplica({ requestTimeoutMs: 200_000 });
    services.closeAfterTest(patient);
    expect((await patient.submit([innerOf(2), innerOf(3)])).map(outcomeOf)).toEqual(["success", "success"]);
  });
});
