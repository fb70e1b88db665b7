import { type AllowedTarget, bytesToHex, parseKeyPolicy } from "@gas-waiver/protocol";
import { ModelRegistry } from "./modelRegistry.js";
import type { ScriptedNode } from "./scriptedNode.js";
import { GOOD_HEADERS, type TestService } from "./testService.js";
import { APPROVE, innerOf, TOKEN, TRANSFER, WAIVER } from "./user.js";

// Helpers for services that follow a registry.

export const targets = (...selectors: Uint8Array[]): AllowedTarget[] => [{ address: TOKEN, selectors }];
export const transferOf = (user: number) => innerOf(user);
export const approvalOf = (user: number) => innerOf(user, 0, { data: APPROVE });
export const REGISTRY = { policySource: "registry" } as const;

/** Gives a node a registry. By default it permits the waiver only transfers; `"none"` revokes the waiver. */
export const withRegistry =
  (permitted: readonly AllowedTarget[] | "none" = targets(TRANSFER)) =>
  (node: ScriptedNode) => {
    node.chain.registry = new ModelRegistry();
    node.chain.setPolicy(WAIVER, permitted === "none" ? undefined : permitted);
  };

export async function policyOf(service: TestService) {
  const { text } = await service.call("GET", "/v1/policy", undefined, GOOD_HEADERS);
  return parseKeyPolicy(JSON.parse(text));
}

/** Resolves when `GET /v1/policy` answers these selectors. It asks again after each time that the service polls the chain. */
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

/** Changes the policy of the waiver on the chain, and resolves when the service applies it. */
export async function changePolicy(
  service: TestService,
  permitted: readonly AllowedTarget[] | undefined,
): Promise<void> {
  service.node.chain.setPolicy(WAIVER, permitted);
  await untilPolicy(service, permitted?.[0]?.selectors);
}
