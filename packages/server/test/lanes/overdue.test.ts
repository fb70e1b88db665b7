// Wrappers that can land no more where they stand. The sweep would find them too, a minute later.
import { decodeInnerTx, type Hex, hexToBytes, signWrapperTxWithKey } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, SECOND_KEY, userAddress, WAIVER, WAIVER_KEY } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const INCLUDED = { query: "?wait=included" };

const wrapperOf = (inner: Hex, key: Uint8Array, nonce: bigint) =>
  signWrapperTxWithKey(decodeInnerTx(hexToBytes(inner)), key, { nonce, verificationGas: 50_000n }).raw;

/** Starts a service with one submission, whose wrapper a node has taken and lost. */
async function startWithLostWrapper(): Promise<TestService> {
  const service = await services.start({}, { automine: false });
  await service.submit([innerOf(1)]);
  service.node.chain.clearPool();
  return service;
}

/** Lets blocks come without the lane's wrapper until its submission has ended. */
async function mineUntilOver(service: TestService, condition: string): Promise<void> {
  while ((await service.query(`select from submissions where ${condition}`)).length === 0) {
    service.node.mine();
    await service.node.nextCall("eth_blockNumber");
  }
}

async function expectLaneToGoOn(service: TestService): Promise<void> {
  service.node.automine = true;
  expect((await service.submit([innerOf(2)], INCLUDED)).map(outcomeOf)).toEqual(["success"]);
  expect(service.node.chain.nonceOf(WAIVER)).toBe(1n);
}

describe("a wrapper with the waiver's next nonce", () => {
  it("whose InnerTx another waiver's wrapper carried ends by its receipt, and its nonce goes to the next", async () => {
    const service = await startWithLostWrapper();
    service.node.chain.addToPool(wrapperOf(innerOf(1), SECOND_KEY, 0n));
    await mineUntilOver(service, "state = 'included'");
    await expectLaneToGoOn(service);
    expect(service.node.chain.executed).toEqual([1, 2].map((user) => hashOf(innerOf(user))));
  });

  it("whose sender used the nonce otherwise fails by that proof, and its nonce goes to the next", async () => {
    const service = await startWithLostWrapper();
    service.node.chain.setNonce(userAddress(1), 1n);
    await mineUntilOver(service, "state = 'failed' and error_reason = 'NONCE_TOO_LOW'");
    await expectLaneToGoOn(service);
  });
});

describe("a wrapper whose nonce another one has in the pool", () => {
  it("gives way to the free nonce below it, for which the other one waits", async () => {
    const service = await services.start({}, { automine: false, pool: "queued" });
    const { node } = service;
    // Perhaps the store has lost it in a failover.
    const unknown = wrapperOf(innerOf(101), WAIVER_KEY, 1n);
    node.chain.addToPool(unknown);
    const first = innerOf(1);
    // The lowest nonce becomes free, while the next one is occupied.
    node.once({
      kind: "error",
      of: (raw) => (raw.includes(first.slice(2)) ? { code: -32000, message: "computer says no" } : undefined),
    });
    const lines = service.submit([first, innerOf(2)], INCLUDED);
    await node.until(({ chain }) => chain.pending.some(({ nonce }) => nonce === 0n));
    while (node.chain.executed.length < 3) {
      node.mine();
      await node.nextCall("eth_blockNumber");
    }
    expect((await lines).map(outcomeOf)).toEqual(["success", "success"]);
  });
});
