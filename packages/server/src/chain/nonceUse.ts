import { bytesEqual } from "@gas-waiver/protocol";
import { type Authorization, authorityOf } from "./client/authorizations.js";
import type { BlockTransaction, BlockWithTransactions, NodeClient } from "./client/nodeClient.js";

/** The transaction that used an account's nonce, read from the block that holds it. */
export interface NonceUse {
  readonly nonce: bigint;
  readonly transaction: BlockTransaction;
  /**
   * The account sent the transaction, or signed an authorization (EIP-7702) in a transaction of any sender.
   */
  readonly by: "sender" | "authorization";
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
  /** The transactions of that block. */
  readonly blockTransactions: readonly BlockTransaction[];
  /** The block has others, which the service cannot read. */
  readonly hasUnread?: boolean | undefined;
}

/** A nonce of an account. */
export interface AccountNonce {
  /** 20 bytes. */
  readonly account: Uint8Array;
  readonly nonce: bigint;
}

/** A block at a height. */
export interface BlockAt {
  readonly height: bigint;
  readonly block: BlockWithTransactions;
}

/** The use of a nonce by a transaction of the block. */
export function useBy(
  transaction: BlockTransaction,
  { height, block }: BlockAt,
  { nonce }: AccountNonce,
  by: NonceUse["by"] = "sender",
): NonceUse {
  const { hash: blockHash, transactions: blockTransactions, hasUnread } = block;
  return { nonce, transaction, by, blockNumber: height, blockHash, blockTransactions, hasUnread };
}

/**
 * The use of a nonce by an authorization (EIP-7702) in the block, which may also list one that had no effect. So it counts
 * only in the block after which the account's nonce is higher, and where no transaction of the account has the nonce.
 */
export function authorizedUseIn(at: BlockAt, accountNonce: AccountNonce): NonceUse | undefined {
  const { account, nonce } = accountNonce;
  const isUse = (authorization: Authorization) => {
    const authority = authorization.nonce === nonce ? authorityOf(authorization) : undefined;
    return authority !== undefined && bytesEqual(authority, account);
  };
  const transaction = at.block.transactions.find(({ authorizations }) => authorizations?.some(isUse));
  return transaction && useBy(transaction, at, accountNonce, "authorization");
}

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
