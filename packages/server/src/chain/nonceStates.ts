import type { NodeClient } from "./client/nodeClient.js";
import type { AccountNonce } from "./nonceUse.js";

/**
 * Finds the block after which the account's nonce is first beyond the one asked for, by the states of blocks. Nodes keep
 * those of recent blocks; the block's own transactions are the proof, so a node that contradicts itself only costs a search.
 * @returns undefined where the nonce is unused, or the node lacks a state.
 */
export async function findRise(
  chain: Pick<NodeClient, "noncesAt">,
  { account, nonce }: AccountNonce,
  final: bigint,
): Promise<bigint | undefined> {
  const isUsedAt = async (height: bigint) => {
    const [next] = await chain.noncesAt(account, [height]);
    return next === undefined ? "no state" : next > nonce;
  };
  if ((await isUsedAt(final)) !== true) return undefined;
  let used = final;
  // -1 stands for the moment before the genesis.
  let unused = final - 1n;
  for (let step = 1n; unused >= 0n; step *= 2n) {
    const isUsed = await isUsedAt(unused);
    if (isUsed === "no state") return undefined;
    if (!isUsed) break;
    used = unused;
    unused = unused - step < -1n ? -1n : unused - step;
  }
  while (used - unused > 1n) {
    const middle = (used + unused) / 2n;
    const isUsed = await isUsedAt(middle);
    if (isUsed === "no state") return undefined;
    if (isUsed) used = middle;
    else unused = middle;
  }
  return used;
}
