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
  /** Undefined: revoked. */
  readonly targets: readonly AllowedTarget[] | undefined;
}

/** What a service sees of a WaiverRegistry: versions, targets and events, by the block in which they changed. */
export class ModelRegistry {
  /** Refuses to give logs, as some nodes do. */
  withoutLogs = false;
  #changes: Change[] = [];
  #versions = 0;

  /** The policy that binds from this block on. */
  change(height: number, waiver: Hex, targets: readonly AllowedTarget[] | undefined): void {
    this.#changes.push({ height, version: ++this.#versions, waiver, targets });
  }

  /** Blocks above this one are gone, and what changed in them. */
  forget(height: number): void {
    this.#changes = this.#changes.filter((change) => change.height <= height);
  }

  /** The answer to a call of the registry. */
  call(data: Hex): Hex {
    const waiver: Hex = `0x${data.slice(-40)}`;
    const { version, targets } = this.#changes.findLast((change) => change.waiver === waiver) ?? NONE;
    const asked = hexToBytes(waiver);
    if (data === bytesToHex(policyVersionCall(asked))) return answer(targets ? BigInt(version) : 0n);
    if (data === bytesToHex(policyTargetsCall(asked))) return answer(targets ?? []);
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

/** A function's result is encoded as the arguments of a call are. */
function answer(value: bigint | readonly AllowedTarget[]): Hex {
  return bytesToHex(encodeCall("result()", value).subarray(4));
}
