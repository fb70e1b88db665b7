/** The bounds of one request. */
export interface BatchBounds {
  readonly maxTransactions: number;
  readonly maxBytes: number;
}

/** The bytes of `{"transactions":[]}`, with room for other members. */
const BODY_BYTES = 100;
/** The quotes and the comma of a transaction. */
const QUOTES_BYTES = 3;

/**
 * Splits positions into batches of one request each, in their order. One that is larger than a request goes alone, so that the
 * service refuses it by itself.
 */
export function batchesOf(
  indexes: readonly number[],
  transactions: readonly string[],
  { maxTransactions, maxBytes }: BatchBounds,
): number[][] {
  const batches: number[][] = [];
  let bytes = 0;
  for (const index of indexes) {
    const size = (transactions[index]?.length ?? 0) + QUOTES_BYTES;
    const last = batches.at(-1);
    if (last && last.length < maxTransactions && bytes + size <= maxBytes - BODY_BYTES) {
      last.push(index);
      bytes += size;
    } else {
      batches.push([index]);
      bytes = size;
    }
  }
  return batches;
}
