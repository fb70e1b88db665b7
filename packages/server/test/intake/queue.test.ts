// The queue: API keys take turns, and submissions that wait too long fail.
import { hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { deferred } from "../support/deferred.js";
import { GOOD_HEADERS, OTHER_API_KEY, outcomeOf, testServices } from "../support/testService.js";
import { hashOf, innerOf, userAddress } from "../support/user.js";

const services = testServices();
const OTHER = { headers: { ...GOOD_HEADERS, authorization: `Bearer ${OTHER_API_KEY}` } };
const INCLUDED = "?wait=included";

describe("a flood of one API key", () => {
  it.each([
    ["many users", (i: number) => innerOf(1 + i)],
    ["one user", (i: number) => innerOf(1, i)],
  ])("of %s does not delay another key's single transaction beyond the next batch", async (_, innerAt) => {
    const service = await services.start({ maxBatchSize: 600 });
    const nodeAnswer = deferred();
    service.node.holdSends(nodeAnswer.promise);
    const flood = Array.from({ length: 600 }, (_, i) => innerAt(i));
    const lines = service.submit(flood);
    // One batch is on the wire, and the next is being signed.
    await service.node.until(({ sent }) => sent.length > 0);
    const onTheWire = service.node.sent.length;
    await service.until(
      "select from submissions having count(*) = 600 and count(*) filter (where state = 'signed') > $1",
      [onTheWire],
    );
    const single = innerOf(9_000);
    const answer = service.submit([single], { ...OTHER, query: INCLUDED });
    await service.until("select from submissions where sender = $1", [hexToBytes(userAddress(9_000))]);
    nodeAnswer.resolve();
    expect((await answer).map(outcomeOf)).toEqual(["success"]);
    expect((await lines).map(outcomeOf)).toEqual(Array(600).fill("success"));
    // The two steps that came before it have 198 each at most. It is the first or the second of the next one.
    expect(service.node.chain.executed.indexOf(hashOf(single))).toBeLessThanOrEqual(2 * 198 + 1);
  });
});

describe("a submission that waits longer than maxQueueMs for its broadcast", () => {
  it("fails as TIMEOUT/NOT_BROADCAST, and is never executed afterwards", async () => {
    const service = await services.start();
    const [warm] = await service.submit([innerOf(1)], { query: INCLUDED });
    expect(outcomeOf(warm)).toBe("success");
    const strict = services.closeAfterTest(await service.startReplica({ maxQueueMs: 1 }));
    await service.node.close();
    const [line] = await strict.submit([innerOf(2)]);
    expect(outcomeOf(line)).toBe("TIMEOUT/NOT_BROADCAST");
    expect(line).toMatchObject({ error: { message: expect.stringContaining("was given up") } });
    expect(
      await service.query("select state, error_reason from submissions where id = $1", [line?.id]),
    ).toEqual([{ state: "failed", error_reason: "NOT_BROADCAST" }]);
    // Otherwise it would fail the next submissions as well.
    await strict.server.close();
    await service.node.open();
    expect((await service.submit([innerOf(3)], { query: INCLUDED })).map(outcomeOf)).toEqual(["success"]);
    expect(service.node.chain.executed).toEqual([innerOf(1), innerOf(3)].map(hashOf));
    // The same transaction may be submitted again, as another submission.
    const [again] = await service.submit([innerOf(2)], { query: INCLUDED });
    expect(outcomeOf(again)).toBe("success");
    expect(again?.id).not.toBe(line?.id);
  });

  it("gets its line on another replica as well", async () => {
    const service = await services.start();
    await service.submit([innerOf(1)], { query: INCLUDED });
    const strict = services.closeAfterTest(await service.startReplica({ maxQueueMs: 1 }));
    await service.node.close();
    const [line] = await service.submit([innerOf(2)]);
    expect(outcomeOf(line)).toBe("TIMEOUT/NOT_BROADCAST");
    expect(line).toMatchObject({ error: { message: expect.stringContaining("was given up") } });
    await strict.server.close();
  });
});
