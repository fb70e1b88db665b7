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
    const waiver: Hex = `0x${data.slice(-40)}`;
    const { version, targets } = this.#changes.findLast((change) => change.waiver === waiver) ?? NONE;
    const address = hexToBytes(waiver);
    if (data === bytesToHex(policyVersionCall(address))) return answer(targets ? BigInt(version) : 0n);
    if (data === bytesToHex(policyTargetsCall(address))) return answer(targets ?? []);
    return "0x";
  }

  logs({ fromBlock, toBlock }: { readonly fromBlock: Hex; readonly toBlock: Hex }): object[] {
    const isThere = ({ height }: Change) => height >= Number(fromBlock) && height <= Number(toBlock);
    const topics = ({ waiver, targets }: Change) => [
      POLICY_EVENTS[targets ? 1 : 2],
      `0x${waiver.slice(2).padStart(64, "0")}`,
    ];
    return this.#changes
      .filter(isThere)
      .map((change) => ({ address: bytesToHex(REGISTRY_ADDRESS), topics: topics(change), data: "0x" }));
  }
}

const NONE = { version: 0, targets: undefined };

/** Encodes a result, which has the same encoding as the arguments of a call. */
function answer(value: bigint | readonly AllowedTarget[]): Hex {
  return bytesToHex(encodeCall("result()", value).subarray(4));
}
