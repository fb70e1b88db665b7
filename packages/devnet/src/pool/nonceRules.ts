/**
 * The rules of nonces in a pool.
 *
 * - `queued`, as in geth: a transaction ahead of its turn waits, and one that pays a tenth more replaces another.
 * - `strict`, as on CometBFT chains: the nonce must directly follow the transactions that wait, for the signer and for
 *   the sender of the inner. Any other nonce is refused, so nothing is ever replaced. After each block the pool is
 *   checked again, and transactions that an eviction left behind a gap are dropped.
 */
export const POOL_KINDS = ["queued", "strict"] as const;
export type PoolKind = (typeof POOL_KINDS)[number];
