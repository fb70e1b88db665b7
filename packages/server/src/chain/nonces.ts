import { bytesToHex } from "@gas-waiver/protocol";
import type { NodeClient } from "./client/nodeClient.js";

/** Returns an account's next nonce; undefined for one that was not asked for, or whose nonce no node tells. */
export type NextNonces = (account: Uint8Array) => bigint | undefined;

/** Reads the next nonces by the latest block, of each account once. Rejects if no node tells any. */
export async function readNextNonces(
  chain: Pick<NodeClient, "nonces">,
  accounts: readonly Uint8Array[],
): Promise<NextNonces> {
  const byName = new Map(accounts.map((account) => [bytesToHex(account), account]));
  const told = byName.size === 0 ? [] : await chain.nonces([...byName.values()]);
  const nonces = new Map([...byName.keys()].map((name, i) => [name, told[i]]));
  return (account) => nonces.get(bytesToHex(account));
}

/** The chain's next nonces of a waiver and of some senders, read together. */
export interface ChainNonces {
  readonly waiver: bigint;
  readonly of: NextNonces;
}

/** Reads the next nonces by the latest block. Rejects if no node tells the waiver's. */
export async function fetchNonces(
  chain: Pick<NodeClient, "nonces">,
  waiver: Uint8Array,
  senders: readonly Uint8Array[],
): Promise<ChainNonces> {
  const of = await readNextNonces(chain, [waiver, ...senders]);
  // Asked alone, the call rejects with the reason.
  const [waiverNonce = 0n] = of(waiver) === undefined ? await chain.nonces([waiver]) : [of(waiver)];
  return { waiver: waiverNonce, of };
}
