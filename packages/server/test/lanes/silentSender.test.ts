// A sender whose nonce no node tells: an address on a provider's list, or one with missing state.
import { describe, expect, it } from "vitest";
import { RefusedByNode } from "../support/modelChain.js";
import { outcomeOf, testServices } from "../support/testService.js";
import { innerOf, userAddress } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const SILENT = 1;

/** Starts a service whose node refuses the nonce of one sender. */
async function startWithSilentSender(silent: { is: boolean }) {
  const service = await services.start();
  service.node.answers.eth_getTransactionCount = ([address], answer) => {
    if (silent.is && address === userAddress(SILENT)) throw new RefusedByNode("address is not available");
    return answer();
  };
  return service;
}

describe("a sender whose nonce no node tells", () => {
  it("delays no other sender, and is served once the nonce is told", async () => {
    const silent = { is: true };
    const service = await startWithSilentSender(silent);
    const waiting = service.submit([innerOf(SILENT, 0), innerOf(SILENT, 1)], { query: "?wait=included" });
    await service.until("select from unfinished");
    for (const user of [2, 3, 4]) {
      const lines = await service.submit([innerOf(user, 0), innerOf(user, 1)], { query: "?wait=included" });
      expect(lines.map(outcomeOf)).toEqual(["success", "success"]);
    }
    silent.is = false;
    expect((await waiting).map(outcomeOf)).toEqual(["success", "success"]);
  });

  it("keeps the outcomes of no other sender back while its wrapper is overdue", async () => {
    const silent = { is: false };
    const service = await startWithSilentSender(silent);
    service.node.automine = false;
    const overdue = service.submit([innerOf(SILENT)], { query: "?wait=included" });
    await service.node.until(({ chain }) => chain.pending.length === 1);
    silent.is = true;
    service.node.chain.clearPool();
    const others = service.submit([innerOf(2), innerOf(3)], { query: "?wait=included" });
    while (service.node.chain.executed.length < 3) {
      service.node.mine();
      await service.node.nextCall("eth_blockNumber");
    }
    expect((await others).map(outcomeOf)).toEqual(["success", "success"]);
    expect((await overdue).map(outcomeOf)).toEqual(["success"]);
  });
});
