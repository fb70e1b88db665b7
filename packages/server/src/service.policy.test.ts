// What may be sent, by the chain's registry: followed, narrowed by a configuration, and when it cannot be read.
import { type AllowedTarget, hexToBytes, parseReadiness } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { ModelRegistry } from "./testing/ModelRegistry.js";
import type { ScriptedNode } from "./testing/ScriptedNode.js";
import { GOOD_HEADERS, outcomeOf, type TestService, testServices } from "./testing/TestService.js";
import { APPROVE, innerOf, TOKEN, TRANSFER, userAddress, WAIVER } from "./testing/user.js";

const services = testServices();
const targets = (...selectors: Uint8Array[]): AllowedTarget[] => [{ address: TOKEN, selectors }];
const transferOf = (user: number) => innerOf(user);
const approvalOf = (user: number) => innerOf(user, 0, { data: APPROVE });
const REGISTRY = { policySource: "registry" } as const;
const BOTH = { policySource: "both" } as const;

/** A node whose registry permits the waiver transfers alone, unless told otherwise. */
const withRegistry =
  (permitted: readonly AllowedTarget[] | "none" = targets(TRANSFER)) =>
  (node: ScriptedNode) => {
    node.chain.registry = new ModelRegistry();
    node.chain.decide(WAIVER, permitted === "none" ? undefined : permitted);
  };

/** Decides, and resolves when the service has read it: it reads the targets only then. */
async function decide({ node }: TestService, permitted: readonly AllowedTarget[] | undefined): Promise<void> {
  const read = node.nextCall("eth_call");
  node.chain.decide(WAIVER, permitted);
  await read;
  // One more look at the head: what was read before it is in force.
  await node.nextCall("eth_blockNumber");
}

const outcomes = async (service: TestService, ...transactions: string[]) =>
  (await service.submit(transactions)).map(outcomeOf);

describe("a service that follows the registry", () => {
  it("takes what the waiver may send from the first request on", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual([
      "success",
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
    ]);
    expect(await outcomes(service, innerOf(3, 0, { to: new Uint8Array(20).fill(9) }))).toEqual([
      "VALIDATION_FAILED/TARGET_NOT_ALLOWED",
    ]);
  });

  it("hears of a wider policy, of a narrower one, and of one that is gone, by the next block", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    await decide(service, targets(TRANSFER, APPROVE));
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual(["success", "success"]);
    await decide(service, targets(APPROVE));
    expect(await outcomes(service, transferOf(3), approvalOf(4))).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      "success",
    ]);
    await decide(service, undefined);
    expect(await outcomes(service, approvalOf(5))).toEqual(["BROADCAST_FAILED/WAIVER_NOT_REGISTERED"]);
    await decide(service, targets(TRANSFER));
    expect(await outcomes(service, transferOf(6))).toEqual(["success"]);
  });

  it("says in /v1/ready that a waiver is not registered, and takes nothing for it", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry("none") });
    const { status, text } = await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
    expect(status).toBe(503);
    expect(parseReadiness(JSON.parse(text)).parts.waivers).toEqual({
      ok: false,
      usable: 0,
      message: `no waiver takes work; ${WAIVER} is not a registered waiver`,
    });
  });

  it("shows on the lane that its waiver was revoked, keeps what is queued, and works again when it is back", async () => {
    const service = await services.start(
      { ...REGISTRY, requestTimeoutMs: 20_000 },
      { prepare: withRegistry() },
    );
    await service.submit([transferOf(1)]);
    // It waits for its turn until after the revocation.
    const waiting = service.submit([innerOf(2, 1)]);
    await service.until("select from submissions where state = 'queued'");
    service.node.chain.decide(WAIVER, undefined);
    const [lane] = await service.until<{ reason: string }>(
      "select reason from lanes where broken_until > now()",
    );
    expect(lane?.reason).toBe(`${WAIVER} is not a registered waiver`);
    service.node.chain.setNonce(userAddress(2), 1n);
    service.node.chain.decide(WAIVER, targets(TRANSFER));
    expect((await waiting).map(outcomeOf)).toEqual(["success"]);
    await service.until("select from lanes where reason is null and broken_until < now()");
  });

  it("asks for nothing but the head while no event comes", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    const { node } = service;
    const asked: string[] = [];
    node.script = ({ methods }) => {
      asked.push(...methods);
      return undefined;
    };
    for (let block = 0; block < 3; block++) {
      node.mine();
      await node.nextCall("eth_getLogs");
    }
    expect(asked).not.toContain("eth_call");
    node.script = undefined;
  });

  it("reads everything again after a reorg, which may have taken an event away", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry(targets(TRANSFER, APPROVE)) });
    await decide(service, targets(APPROVE));
    expect(await outcomes(service, transferOf(1))).toEqual(["VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"]);
    const read = service.node.nextCall("eth_call");
    service.node.chain.reorg(1);
    service.node.mine();
    service.node.mine();
    await read;
    await service.node.nextCall("eth_blockNumber");
    expect(await outcomes(service, transferOf(2))).toEqual(["success"]);
  });

  it("reads everything again where the node gives no logs", async () => {
    const service = await services.start(REGISTRY, { prepare: withRegistry() });
    const { registry } = service.node.chain;
    if (registry) registry.withoutLogs = true;
    await decide(service, targets(APPROVE));
    expect(await outcomes(service, transferOf(1))).toEqual(["VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"]);
  });

  it("hears what has changed while the node was away when it is back", async () => {
    const service = await services.start({ ...REGISTRY, requestTimeoutMs: 100 }, { prepare: withRegistry() });
    await service.node.close();
    // By the last known policy: what is accepted is not lost.
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual([
      "TIMEOUT/NOT_BROADCAST",
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
    ]);
    for (let block = 0; block < 3; block++) service.node.chain.mine();
    service.node.chain.decide(WAIVER, targets(TRANSFER, APPROVE));
    const read = service.node.nextCall("eth_call");
    await service.node.open();
    await read;
    await service.node.nextCall("eth_blockNumber");
    const [line] = await service.submit([approvalOf(3)], { query: "?wait=broadcast" });
    expect(line && outcomeOf(line)).not.toContain("SELECTOR_NOT_ALLOWED");
  });
});

describe("a service with a configuration beside the registry", () => {
  it("takes only what both permit", async () => {
    const narrow = { ...BOTH, allowedTargets: targets(APPROVE) };
    const service = await services.start(narrow, { prepare: withRegistry(targets(TRANSFER, APPROVE)) });
    expect(await outcomes(service, transferOf(1), approvalOf(2))).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      "success",
    ]);
    await decide(service, targets(TRANSFER));
    expect(await outcomes(service, transferOf(3), approvalOf(4))).toEqual([
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
      "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED",
    ]);
  });
});

describe("a service that starts without the registry", () => {
  it("does not start where calls cannot read it, and says what to configure", async () => {
    await expect(services.start(REGISTRY)).rejects.toThrow(
      /^the WaiverRegistry at 0x0{36}f334 cannot be read: .*; configure what may be sent/,
    );
  });

  it("refuses while no node has told what may be sent, and takes work when one has", async () => {
    const first = await services.start(REGISTRY, { prepare: withRegistry() });
    await first.submit([transferOf(1)]);
    await first.server.close();
    await first.node.close();
    const service = services.own(await first.again());
    const reply = await service.post(JSON.stringify({ transactions: [transferOf(2)] }));
    expect(reply.status).toBe(503);
    expect(reply.headers["retry-after"]).toBe("1");
    expect(JSON.parse(reply.text).error).toMatchObject({ code: "UNAVAILABLE", reason: "CHAIN_UNAVAILABLE" });
    const read = service.node.nextCall("eth_call");
    await service.node.open();
    await read;
    await service.until("select from lanes where owner is not null");
    expect(await outcomes(service, transferOf(2))).toEqual(["success"]);
  });

  it("takes work by its configuration meanwhile, if it has one", async () => {
    const first = await services.start(BOTH, { prepare: withRegistry() });
    await first.submit([transferOf(1)]);
    await first.server.close();
    await first.node.close();
    const service = services.own(await first.again({ requestTimeoutMs: 50 }));
    expect(await outcomes(service, transferOf(2), innerOf(3, 0, { data: hexToBytes("0x01020304") }))).toEqual(
      ["TIMEOUT/NOT_BROADCAST", "VALIDATION_FAILED/SELECTOR_NOT_ALLOWED"],
    );
  });
});
