// Waivers with different policies: each call goes to a waiver that may carry it, or waits for one.
import { bytesToHex, decodeTransaction, hexToBytes, recoverSender } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { setLaneState, untilOwned } from "../support/laneStates.js";
import {
  approvalOf,
  changePolicy,
  REGISTRY,
  targets,
  transferOf,
  withRegistry,
} from "../support/policies.js";
import type { ScriptedNode } from "../support/scriptedNode.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import {
  APPROVE,
  accountsOf,
  hashOf,
  innerOf,
  SECOND_KEY,
  SECOND_WAIVER,
  TRANSFER,
  userAddress,
  WAIVER,
  WAIVER_KEY,
} from "../support/user.js";

const services = testServices();

const outcomes = async (service: TestService, ...transactions: string[]) =>
  (await service.submit(transactions)).map(outcomeOf);

describe("two waivers with different policies", () => {
  /** The first may send transfers, the second approvals. */
  const prepare = (node: ScriptedNode) => {
    withRegistry(targets(TRANSFER))(node);
    node.chain.setPolicy(SECOND_WAIVER, targets(APPROVE));
  };
  const KEYS = { ...REGISTRY, waivers: accountsOf(WAIVER_KEY, SECOND_KEY) };
  const carriers = (service: TestService) =>
    service.node.sent.map((raw) => bytesToHex(recoverSender(decodeTransaction(hexToBytes(raw)))));

  it("each carry the calls that they may, also of a sender with a transaction in flight in the other lane", async () => {
    const service = await services.start(KEYS, { prepare, automine: false });
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    expect(await outcomes(service, transferOf(1))).toEqual(["success"]);
    const later = service.submit([innerOf(1, 1, { data: APPROVE })]);
    // The approval is queued in the second lane until the transfer is included.
    await service.until("select from submissions where state = 'queued' and waiver = $1", [
      hexToBytes(SECOND_WAIVER),
    ]);
    service.node.mine();
    expect((await later).map(outcomeOf)).toEqual(["success"]);
    expect(carriers(service)).toEqual([WAIVER, SECOND_WAIVER]);
  });

  it("report no NONCE_GAP for a transaction while the other lane holds the earlier nonce", async () => {
    const changes = { ...KEYS, nonceGapTimeoutMs: 50 };
    const service = await services.start(changes, { prepare, automine: false });
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    expect(await outcomes(service, transferOf(1))).toEqual(["success"]);
    const lines = service.stream([innerOf(1, 1, { data: APPROVE }), innerOf(2, 1, { data: APPROVE })]);
    const next = async () => {
      const { value } = await lines.next();
      return [value?.index, outcomeOf(value)];
    };
    // The second user has no transaction with nonce 0.
    expect(await next()).toEqual([1, "VALIDATION_FAILED/NONCE_GAP"]);
    service.node.mine();
    expect(await next()).toEqual([0, "success"]);
    expect(carriers(service)).toEqual([WAIVER, SECOND_WAIVER]);
  });

  it("pass queued submissions on when one's policy is narrowed, if the other's permits them", async () => {
    const service = await services.start(KEYS, { prepare });
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    // The nonce gap keeps the submission queued.
    const waiting = service.submit([innerOf(1, 1)]);
    await service.until("select from submissions where state = 'queued' and waiver = $1", [
      hexToBytes(WAIVER),
    ]);
    service.node.chain.setPolicy(WAIVER, targets(APPROVE));
    service.node.chain.setPolicy(SECOND_WAIVER, targets(TRANSFER));
    await service.until("select from submissions where state = 'queued' and waiver = $1", [
      hexToBytes(SECOND_WAIVER),
    ]);
    service.node.chain.setNonce(userAddress(1), 1n);
    expect((await waiting).map(outcomeOf)).toEqual(["success"]);
    expect(carriers(service)).toEqual([SECOND_WAIVER]);
  });

  it("keep submissions that only a stopped lane may carry, until that lane is open again", async () => {
    const service = await services.start(KEYS, { prepare });
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    await setLaneState(service, SECOND_WAIVER, "stopped");
    const waiting = service.submit([approvalOf(1)]);
    await service.until("select from submissions where state = 'queued' and waiver = $1", [
      hexToBytes(SECOND_WAIVER),
    ]);
    expect(await outcomes(service, transferOf(2))).toEqual(["success"]);
    await setLaneState(service, SECOND_WAIVER, "open");
    expect((await waiting).map(outcomeOf)).toEqual(["success"]);
    expect(carriers(service)).toEqual([WAIVER, SECOND_WAIVER]);
  });

  it("pass queued submissions on when one is revoked, if the other's policy permits them", async () => {
    const service = await services.start(KEYS, {
      prepare(node) {
        withRegistry(targets(TRANSFER))(node);
        node.chain.setPolicy(SECOND_WAIVER, targets(TRANSFER));
      },
    });
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    const waiting = service.submit([innerOf(1, 1)]);
    const [queued] = await service.until<{ waiver: Buffer }>(
      "select waiver from submissions where state = 'queued'",
    );
    const first = bytesToHex(queued?.waiver ?? new Uint8Array());
    service.node.chain.setPolicy(first, undefined);
    await service.until("select from submissions where state = 'queued' and waiver <> $1", [
      hexToBytes(first),
    ]);
    service.node.chain.setNonce(userAddress(1), 1n);
    expect((await waiting).map(outcomeOf)).toEqual(["success"]);
    expect(carriers(service)).not.toContain(first);
  });

  it("send submissions that neither permits any more, for the chain to refuse (D8)", async () => {
    const service = await services.start(KEYS, { prepare });
    await untilOwned(service, [WAIVER, SECOND_WAIVER]);
    const waiting = service.submit([innerOf(1, 1)]);
    await service.until("select from submissions where state = 'queued'");
    service.node.chain.refused.set(hashOf(innerOf(1, 1)), "SELECTOR_NOT_ALLOWED");
    await changePolicy(service, targets(hexToBytes("0x01020304")));
    service.node.chain.setNonce(userAddress(1), 1n);
    expect((await waiting).map(outcomeOf)).toEqual(["VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"]);
  });
});
