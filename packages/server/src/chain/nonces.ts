import { bytesToHex } from "@gas-waiver/protocol";
import type { NodeClient } from "./nodeClient.js";

/** The chain's next nonces of a waiver and of senders, as far as they were asked for. */
export interface ChainNonces {
  readonly waiver: bigint;
  of(sender: Uint8Array): bigint | undefined;
}

/** Asks for them all at once. */
export async function fetchNonces(
  chain: Pick<NodeClient, "nonces">,
  waiver: Uint8Array,
  senders: readonly Uint8Array[],
): Promise<ChainNonces> {
  const [next = 0n, ...nonces] = await chain.nonces([waiver, ...senders]);
  const byName = new Map(senders.map((sender, i) => [bytesToHex(sender), nonces[i] ?? 0n]));
  return { waiver: next, of: (sender) => byName.get(bytesToHex(sender)) };
}
