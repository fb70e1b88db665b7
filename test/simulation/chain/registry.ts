import {
  bytesToHex,
  encodeCall,
  type Hex,
  hexToBytes,
  POLICY_EVENTS,
  policyTargetsCall,
  policyVersionCall,
  REGISTRY_ADDRESS,
} from "@gas-waiver/protocol";
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
  const waiver: Hex = `0x${String(data).slice(-40)}`;
  const version = policies.get(waiver) ?? 0;
  const address = hexToBytes(waiver);
  if (data === bytesToHex(policyVersionCall(address))) return encoded(BigInt(version));
  if (data === bytesToHex(policyTargetsCall(address))) return encoded(version === 0 ? [] : TARGETS);
  return "0x";
}

/** The events of the blocks from one height to another, on the chain that ends in `head`. */
export function registryLogs(head: Block, fromBlock: number, toBlock: number): object[] {
  const logs: object[] = [];
  const last = ancestorAt(head, Math.min(toBlock, head.number));
  for (let block = last; block !== undefined && block.number >= fromBlock; block = block.parent)
    for (const waiver of changesIn(block)) {
      const event = POLICY_EVENTS[block.policies.has(waiver) ? 1 : 2];
      logs.unshift({
        address: REGISTRY,
        topics: [event, `0x${waiver.slice(2).padStart(64, "0")}`],
        data: "0x",
      });
    }
  return logs;
}

function changesIn({ policies, parent }: Block): Hex[] {
  const before = parent?.policies ?? new Map<Hex, number>();
  if (policies === before) return [];
  const waivers = new Set([...before.keys(), ...policies.keys()]);
  return [...waivers].filter((waiver) => before.get(waiver) !== policies.get(waiver));
}

/** Encodes a result, which has the same encoding as the arguments of a call. */
function encoded(value: bigint | typeof TARGETS): Hex {
  return bytesToHex(encodeCall("result()", value).subarray(4));
}
