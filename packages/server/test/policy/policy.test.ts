// The policies of the chain's registry: followed, narrowed by a configuration, and unreadable.
import { bytesToHex, hexToBytes, parseReadiness } from "@gas-waiver/protocol";
import { describe, expect, it, vi } from "vitest";
import type { ServerOptions } from "../../src/model/options/options.js";
import {
  approvalOf,
  changePolicy,
  policyOf,
  REGISTRY,
  targets,
  transferOf,
  untilPolicy,
  withRegistry,
} from "../support/policies.js";
import { GOOD_HEADERS, outcomeOf, type TestService, testServices } from "../support/testService.js";
import { APPROVE, innerOf, TOKEN, TRANSFER, userAddress, WAIVER } from "../support/user.js";

const services = testServices();
const BOTH = { policySource: "both" } as const;

const outcomes = async (service: TestService, ...transactions: string[]) =>
  (await service.submit(transactions)).map(outcomeOf);

describe("a service that follows the registry", () => {
  it("accepts the calls that the waiver may send, from the first request on", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual([
      "success",
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
    ]);
    expect(await outcomes(service, innerOf(3, 0, { to: new Uint8Array(20).fill(9) }))).toEqual([
      "VALIDATION_FAILED/TARGET_NOT_ALLOWED",
    ]);
  });

  it("applies a wider policy, a narrower one and a removed one with the next block", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    await changePolicy(service, targets(TRANSFER, APPROVE));
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual(["success", "success"]);
    await changePolicy(service, targets(APPROVE));
    expect(await outcomes(service, transferOf(3), approvalOf(4))).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      "success",
    ]);
    await changePolicy(service, undefined);
    expect(await outcomes(service, approvalOf(5))).toEqual(["BROADCAST_FAILED/WAIVER_NOT_REGISTERED"]);
    await changePolicy(service, targets(TRANSFER));
    expect(await outcomes(service, transferOf(6))).toEqual(["success"]);
  });

  it("is not ready while its only waiver is not registered, and names it", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry("none") });
    const { status, text } = await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
    expect(status).toBe(503);
    expect(parseReadiness(JSON.parse(text)).parts.waivers).toEqual({
      ok: false,
      usable: 0,
      message: `no waiver takes work; ${WAIVER} is not a registered waiver`,
    });
  });

  it("says what the lane of a revoked waiver waits for, and goes on with its queue when the waiver is back", async () => {
    const service = await services.start({ ...REGISTRY }, { prepare: withRegistry() });
    await service.submit([transferOf(1)]);
    // The nonce gap keeps the submission queued until after the revocation.
    const waiting = service.submit([innerOf(2, 1)]);
    await service.until("select from submissions where state = 'queued'");
    service.node.chain.setPolicy(WAIVER, undefined);
    const [lane] = await service.until<{ why: string }>(
      "select waits_for as why from lanes where waits_cause = 'policy'",
    );
    expect(lane?.why).toBe(`${WAIVER} is not a registered waiver`);
    service.node.chain.setNonce(userAddress(2), 1n);
    service.node.chain.setPolicy(WAIVER, targets(TRANSFER));
    expect((await waiting).map(outcomeOf)).toEqual(["success"]);
    await service.until("select from lanes where waits_cause is null");
  });

  it("reads no policies with new blocks while no event comes", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    const { node } = service;
    const calledMethods: string[] = [];
    node.script = ({ methods }) => {
      calledMethods.push(...methods);
      return undefined;
    };
    for (let block = 0; block < 3; block++) {
      node.mine();
      await node.nextCall("eth_getLogs");
    }
    expect(calledMethods).not.toContain("eth_call");
    node.script = undefined;
  });

  it("learns of a block over the node's WebSocket, without polling", async () => {
    const changes: Partial<ServerOptions> = { ...REGISTRY, pollIntervalMs: 600_000 };
    const service = await services.start(changes, {
      prepare(node) {
        withRegistry()(node);
        Object.assign(changes, { rpcWsUrl: node.wsUrl });
      },
    });
    const { node } = service;
    await node.until(({ heads }) => heads.subscribers === 1);
    node.chain.setPolicy(WAIVER, targets(APPROVE));
    node.mine();
    const selectors = async () => (await policyOf(service)).allowedTargets[0]?.selectors;
    await vi.waitUntil(async () => (await selectors())?.join() === bytesToHex(APPROVE), { timeout: 60_000 });
    expect(await outcomes(service, transferOf(1))).toEqual(["VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"]);
  });

  it("reads all policies again after a reorg, which may have removed an event", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry(targets(TRANSFER, APPROVE)) });
    await changePolicy(service, targets(APPROVE));
    expect(await outcomes(service, transferOf(1))).toEqual(["VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"]);
    service.node.chain.reorg(1);
    service.node.mine();
    service.node.mine();
    await untilPolicy(service, [TRANSFER, APPROVE]);
    expect(await outcomes(service, transferOf(2))).toEqual(["success"]);
  });

  it("reads all policies again for each block if the node gives no logs", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    const { registry } = service.node.chain;
    if (registry) registry.withoutLogs = true;
    await changePolicy(service, targets(APPROVE));
    expect(await outcomes(service, transferOf(1))).toEqual(["VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"]);
  });

  it("applies the last known policy while the node cannot be reached, and reads the changes when it is back", async () => {
    const service = await services.start({ ...REGISTRY, requestTimeoutMs: 100 }, { prepare: withRegistry() });
    await service.node.close();
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual([
      "TIMEOUT/NOT_BROADCAST",
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
    ]);
    for (let block = 0; block < 3; block++) service.node.chain.mine();
    service.node.chain.setPolicy(WAIVER, targets(TRANSFER, APPROVE));
    await service.node.open();
    await untilPolicy(service, [TRANSFER, APPROVE]);
  });
});

describe("GET /v1/policy", () => {
  it("answers the calls that this key may send, by waiver, its limits, and the marker and waits", async () => {
    const service = await services.start(
      { ...REGISTRY, maxGasLimit: 5_000_000n },
      { prepare: withRegistry() },
    );
    await service.submit([transferOf(1)]);
    const token = { address: bytesToHex(TOKEN), selectors: [bytesToHex(TRANSFER)] };
    await service.until("select from lanes where owner is not null");
    await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
    expect(await policyOf(service)).toEqual({
      chainId: 2201,
      genesisHash: service.node.chain.genesisHash,
      marker: "0x000000000000000000000000000000000000f333",
      waits: ["broadcast", "included"],
      allowedTargets: [token],
      waivers: [{ address: WAIVER, usable: true, allowedTargets: [token] }],
      limits: {
        ratePerSecond: 100_000,
        rateBurst: 100_000,
        maxQueued: 5_000,
        maxBatchSize: 100,
        maxBodyBytes: 33_554_432,
        maxGasLimit: "5000000",
        maxDataLength: 130_786,
      },
    });
    const reply = await service.call("GET", "/v1/policy");
    expect(reply.status).toBe(401);
  });

  it("lists a waiver that is not registered without targets, and with the reason", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry("none") });
    const message = `${WAIVER} is not a registered waiver`;
    expect(await policyOf(service)).toMatchObject({
      allowedTargets: [],
      waivers: [{ address: WAIVER, usable: false, message, allowedTargets: [] }],
    });
  });

  it("needs no node if the configuration alone is the source", async () => {
    const service = await services.start();
    await service.node.close();
    const selectors = [APPROVE, TRANSFER].map(bytesToHex);
    expect((await policyOf(service)).allowedTargets).toEqual([{ address: bytesToHex(TOKEN), selectors }]);
  });
});

describe("a service with a configuration beside the registry", () => {
  it("accepts only calls that both permit", async () => {
    const narrow = { ...BOTH, allowedTargets: targets(APPROVE) };
    const service = await services.start(narrow, { prepare: withRegistry(targets(TRANSFER, APPROVE)) });
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      "success",
    ]);
    service.node.chain.setPolicy(WAIVER, targets(TRANSFER));
    // Now no call is permitted by both.
    await untilPolicy(service, undefined);
    expect(await outcomes(service, transferOf(3), approvalOf(4))).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
    ]);
  });
});

describe("a service that starts without the registry", () => {
  it("does not start if calls cannot read it, and names the setting to use", async () => {
    await expect(services.start(REGISTRY)).rejects.toThrow(
      /^the WaiverRegistry at 0x0{36}f334 cannot be read: .*; configure what may be sent/,
    );
  });

  it("answers 503 until the policies have been read from a node, and then accepts", async () => {
    const first = await services.start(REGISTRY, { prepare: withRegistry() });
    await first.submit([transferOf(1)]);
    await first.server.close();
    await first.node.close();
    const service = services.closeAfterTest(await first.startReplica());
    const reply = await service.post(JSON.stringify({ transactions: [transferOf(2)] }));
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBe("1");
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "UNAVAILABLE", reason: "CHAIN_UNAVAILABLE" });
    const policy = await service.call("GET", "/v1/policy", undefined, GOOD_HEADERS);
    expect(policy.status).toBe(503);
    expect(JSON.parse(policy.text).error).toMatchObject({ reason: "CHAIN_UNAVAILABLE" });
    await service.node.open();
    await service.until("select from lanes where owner is not null");
    expect(await outcomes(service, transferOf(2))).toEqual(["success"]);
  });

  it("accepts by its configuration in the meantime, if it has one", async () => {
    const first = await services.start(BOTH, { prepare: withRegistry() });
    await first.submit([transferOf(1)]);
    await first.server.close();
    await first.node.close();
    const service = services.closeAfterTest(await first.startReplica({ requestTimeoutMs: 50 }));
    expect(await outcomes(service, transferOf(2), innerOf(3, 0, { data: hexToBytes("0x01020304") }))).toEqual(
      ["TIMEOUT/NOT_BROADCAST", "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"],
    );
  });
});
