import {
  type AllowedTarget,
  bytesToHex,
  encodeCall,
  type Hex,
  hexToBytes,
  POLICY_EVENTS,
  policyTargetsCall,
  policyVersionCall,
  REGISTRY_ADDRESS,
} from "@gas-waiver/protocol";

interface Change {
  readonly height: number;
  readonly version: number;
  readonly waiver: Hex;
  /** Undefined if the waiver is revoked. */
  readonly targets: readonly AllowedTarget[] | undefined;
}

/** A model of a WaiverRegistry: the versions, targets and events of waivers, by the block in which they changed. */
export class ModelRegistry {
  /** Refuses `eth_getLogs`, as some nodes do. */
  withoutLogs = false;
  #changes: Change[] = [];
  #versions = 0;

  /** Sets the policy of a waiver from this block on; undefined revokes the waiver. */
  change(height: number, waiver: Hex, targets: readonly AllowedTarget[] | undefined): void {
    this.#changes.push({ height, version: ++this.#versions, waiver, targets });
  }

  /** Removes the changes in blocks above this one, as a reorg does. */
  removeAbove(height: number): void {
    this.#changes = this.#changes.filter((change) => change.height <= height);
  }

  /** Answers a call of the registry. */
  call(data: Hex): Hex {
    return answerRegistryCall(data, (waiver) => {
      const change = this.#changes.findLast((one) => one.waiver === waiver);
      return change?.targets && { version: change.version, targets: change.targets };
    });
  }

  logs({ fromBlock, toBlock }: { readonly fromBlock: Hex; readonly toBlock: Hex }): object[] {
    const isThere = ({ height }: Change) => height >= Number(fromBlock) && height <= Number(toBlock);
    return this.#changes
      .filter(isThere)
      .map(({ waiver, targets }) => registryEvent(waiver, targets !== undefined));
  }
}

/** The policy of a registered waiver. */
export interface RegisteredPolicy {
  readonly version: number;
  readonly targets: readonly AllowedTarget[];
}

/**
 * Answers a call of a WaiverRegistry.
 * @param policyOf returns undefined for a waiver that is not registered.
 * @returns `0x` for any other call.
 */
export function answerRegistryCall(data: Hex, policyOf: (waiver: Hex) => RegisteredPolicy | undefined): Hex {
  const waiver: Hex = `0x${data.slice(-40)}`;
  const { version, targets } = policyOf(waiver) ?? { version: 0, targets: [] };
  const address = hexToBytes(waiver);
  if (data === bytesToHex(policyVersionCall(address))) return answer(BigInt(version));
  if (data === bytesToHex(policyTargetsCall(address))) return answer(targets);
  return "0x";
}

/** The log of a change of a waiver's policy. */
export function registryEvent(waiver: Hex, isRegistered: boolean): object {
  const topics = [POLICY_EVENTS[isRegistered ? 1 : 2], `0x${waiver.slice(2).padStart(64, "0")}`];
  return { address: bytesToHex(REGISTRY_ADDRESS), topics, data: "0x" };
}

/** Encodes a result, which has the same encoding as the arguments of a call. */
function answer(value: bigint | readonly AllowedTarget[]): Hex {
  return bytesToHex(encodeCall("result()", value).subarray(4));
}
