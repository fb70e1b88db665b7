import { type AllowedTarget, bytesToHex, parseKeyPolicy } from "@gas-waiver/protocol";
import { ModelRegistry } from "./modelRegistry.js";
import type { ScriptedNode } from "./scriptedNode.js";
import { GOOD_HEADERS, type TestService } from "./testService.js";
import { APPROVE, innerOf, TOKEN, TRANSFER, WAIVER } from "./user.js";

// Services that follow a registry, and what it permits.

export const targets = (...selectors: Uint8Array[]): AllowedTarget[] => [{ address: TOKEN, selectors }];
export const transferOf = (user: number) => innerOf(user);
export const approvalOf = (user: number) => innerOf(user, 0, { data: APPROVE });
export const REGISTRY = { policySource: "registry" } as const;

/** A node whose registry permits the waiver transfers alone, unless told otherwise. */
export const withRegistry =
  (permitted: readonly AllowedTarget[] | "none" = targets(TRANSFER)) =>
  (node: ScriptedNode) => {
    node.chain.registry = new ModelRegistry();
    node.chain.decide(WAIVER, permitted === "none" ? undefined : permitted);
  };

export async function policyOf(service: TestService) {
  const { text } = await service.call("GET", "/v1/policy", undefined, GOOD_HEADERS);
  return parseKeyPolicy(JSON.parse(text));
}

/** Resolves when the policy that the service tells is this one: it looks with each of its looks at the chain. */
export async function untilPolicy(
  service: TestService,
  selectors: readonly Uint8Array[] | undefined,
): Promise<void> {
  const wanted = selectors?.map(bytesToHex).sort().join();
  for (;;) {
    const { waivers } = await policyOf(service);
    const [target] = waivers.find(({ address }) => address === WAIVER)?.allowedTargets ?? [];
    if (target?.selectors?.join() === wanted) return;
    await service.node.nextCall("eth_blockNumber");
  }
}

/** Decides, and resolves when the service has heard of it. */
export async function decide(
  service: TestService,
  permitted: readonly AllowedTarget[] | undefined,
): Promise<void> {
  service.node.chain.decide(WAIVER, permitted);
  await untilPolicy(service, permitted?.[0]?.selectors);
}
