import { bytesEqual } from "@gas-waiver/protocol";
import { type Authorization, authorityOf } from "./client/authorizations.js";
import type { BlockTransaction, BlockWithTransactions } from "./client/nodeClient.js";

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
