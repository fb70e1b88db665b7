// Wrappers whose nonces the chain has used, while no node shows what became of them.
import { describe, expect, it } from "vitest";
import { GOOD_HEADERS, outcomeOf, type TestService, testServices } from "../support/testService.js";
import { innerOf, WAIVER } from "../support/user.js";

const services = testServices();
const INCLUDED = { query: "?wait=included" };

/**
 * Has the chain use the nonces of so many wrappers in blocks that the node has pruned at once, with the states before them.
 * No receipt and no block tells what became of the wrappers.
 */
async function loseTrack(service: TestService, count: number): Promise<void> {
  const { node } = service;
  const inners = Array.from({ length: count }, (_, i) => innerOf(1_000 + i));
  for (let i = 0; i < count; i += 100) await service.submit(inners.slice(i, i + 100));
  await node.until(({ chain }) => chain.pending.length === count);
  node.chain.clearPool();
  node.chain.mine();
  node.chain.setNonce(WAIVER, BigInt(count));
  const pruned = node.chain.height;
  node.chain.statesFrom = pruned + 1;
  node.answers.eth_getBlockByNumber = ([height], answer) =>
    typeof height === "string" && Number(height) <= pruned ? null : answer();
  node.mine();
  node.automine = true;
}

describe("wrappers that a pruned node cannot prove", () => {
  it("do not keep the outcomes of newer submissions back, however many they are, and have a name in their records", async () => {
    const service = await services.start({}, { automine: false });
    await loseTrack(service, 220);
    const lines = await service.submit(
      Array.from({ length: 20 }, (_, i) => innerOf(1 + i)),
      INCLUDED,
    );
    expect(lines.map(outcomeOf)).toEqual(Array(20).fill("success"));
    const [lost] = await service.until<{ id: string }>(
      "select id from submissions where state = 'broadcast' limit 1",
    );
    const record = async () =>
      JSON.parse((await service.call("GET", `/v1/submissions/${lost?.id}`, undefined, GOOD_HEADERS)).text);
    await expect.poll(record, { timeout: 20_000 }).toMatchObject({
      state: "broadcast",
      waitsFor: "the chain has used its wrapper's nonce, and no node shows what became of it",
    });
  });

  it("take no place in the lane: as many as one key may have in flight do not keep new work from being signed", async () => {
    const changes = { maxInFlight: 100 };
    const service = await services.start(changes, { automine: false });
    await loseTrack(service, 98);
    const lines = await service.submit(
      Array.from({ length: 20 }, (_, i) => innerOf(1 + i)),
      INCLUDED,
    );
    expect(lines.map(outcomeOf)).toEqual(Array(20).fill("success"));
  });
});
