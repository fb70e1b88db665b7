import { bytesToHex } from "@gas-waiver/protocol";
import type { NodeClient } from "./client/nodeClient.js";

/** The chain's next nonces of a waiver and of some senders, read together. */
export interface ChainNonces {
  readonly waiver: bigint;
  /** Undefined for a sender that was not asked for, or whose nonce no node tells. */
  of(sender: Uint8Array): bigint | undefined;
}

/**
 * Reads the next nonces by the latest block. Rejects if no node tells the waiver's.
 * @param senders addresses of 20 bytes.
 */
export async function fetchNonces(
  chain: Pick<NodeClient, "nonces">,
  waiver: Uint8Array,
  senders: readonly Uint8Array[],
): Promise<ChainNonces> {
  const [next, ...nonces] = await chain.nonces([waiver, ...senders]);
  const byName = new Map(senders.map((sender, i) => [bytesToHex(sender), nonces[i]]));
  // Asked alone, the call rejects with the reason.
  const [waiverNonce = 0n] = next === undefined ? await chain.nonces([waiver]) : [next];
  return { waiver: waiverNonce, of: (sender) => byName.get(bytesToHex(sender)) };
}
