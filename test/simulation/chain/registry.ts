import { bytesToHex, type Hex, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import { answerRegistryCall, registryEvent } from "../../../packages/server/test/support/modelRegistry.js";
import { APPROVE, TOKEN, TRANSFER } from "../../../packages/server/test/support/user.js";
import { ancestorAt, type Block } from "./block.js";

// The chain's WaiverRegistry (D12). All registered waivers have one policy.

const REGISTRY = bytesToHex(REGISTRY_ADDRESS);
const TARGETS = [{ address: TOKEN, selectors: [TRANSFER, APPROVE] }];

/** Answers a call in the state after a block. @returns `0x` for another contract, or another call. */
export function callRegistry(
  { policies }: Block,
  { to, data }: { readonly to?: unknown; readonly data?: unknown },
): Hex {
  if (String(to).toLowerCase() !== REGISTRY) return "0x";
  return answerRegistryCall(String(data) as Hex, (waiver) => {
    const version = policies.get(waiver);
    return version === undefined ? undefined : { version, targets: TARGETS };
  });
}

/** The events of the blocks from one height to another, on the chain that ends in `head`. */
export function registryLogs(head: Block, fromBlock: number, toBlock: number): object[] {
  const logs: object[] = [];
  const last = ancestorAt(head, Math.min(toBlock, head.number));
  for (let block = last; block !== undefined && block.number >= fromBlock; block = block.parent)
    for (const waiver of changesIn(block)) logs.unshift(registryEvent(waiver, block.policies.has(waiver)));
  return logs;
}

function changesIn({ policies, parent }: Block): Hex[] {
  const before = parent?.policies ?? new Map<Hex, number>();
  if (policies === before) return [];
  const waivers = new Set([...before.keys(), ...policies.keys()]);
  return [...waivers].filter((waiver) => before.get(waiver) !== policies.get(waiver));
}
