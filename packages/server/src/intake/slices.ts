/** Some transactions of a request, which are validated and written together. */
export interface Slice {
  /** The index of the first one in the request. */
  readonly from: number;
  readonly texts: readonly string[];
}

const MAX_TRANSACTIONS = 25;
/** A slice ends when its transactions have this many characters of hex. It has at least one transaction. */
const MAX_LENGTH = 512 * 1_024;

export function slicesOf(transactions: readonly string[]): Slice[] {
  const slices: Slice[] = [];
  for (let from = 0; from < transactions.length; ) {
    let length = 0;
    let to = from;
    do length += transactions[to++]?.length ?? 0;
    while (to < transactions.length && to - from < MAX_TRANSACTIONS && length < MAX_LENGTH);
    slices.push({ from, texts: transactions.slice(from, to) });
    from = to;
  }
  return slices;
}
