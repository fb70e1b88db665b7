import { bytesToHex, type Hex, ProtocolError, parseInnerTx, recoverSender } from "@gas-waiver/protocol";

/** The bounds of one request. */
export interface PartBounds {
  readonly maxTransactions: number;
  readonly maxBytes: number;
}

/** The bytes of a request beside its transactions, and those around each of them. */
const BODY_BYTES = 100;
const QUOTES_BYTES = 3;

/**
 * Splits the positions of transactions into requests. Those of one sender stay together, since the check of one counts those
 * before it; a sender with more than a request takes has a part alone, which the service refuses.
 */
export function partsOf(
  transactions: readonly string[],
  { maxTransactions, maxBytes }: PartBounds,
): number[][] {
  const bytesOf = (indexes: readonly number[]) =>
    indexes.reduce((sum, index) => sum + (transactions[index] ?? "").length + QUOTES_BYTES, 0);
  const all = [...transactions.keys()];
  if (all.length <= maxTransactions && bytesOf(all) <= maxBytes - BODY_BYTES) return [all];
  const bySender = new Map<string, number[]>();
  for (const [index, text] of transactions.entries()) {
    const sender = senderOf(text) ?? `transaction ${index}`;
    bySender.set(sender, [...(bySender.get(sender) ?? []), index]);
  }
  const parts: { readonly indexes: number[]; bytes: number }[] = [];
  for (const indexes of bySender.values()) {
    const bytes = bytesOf(indexes);
    const last = parts.at(-1);
    const fits =
      last !== undefined &&
      last.indexes.length + indexes.length <= maxTransactions &&
      last.bytes + bytes <= maxBytes - BODY_BYTES;
    if (fits) {
      last.indexes.push(...indexes);
      last.bytes += bytes;
    } else parts.push({ indexes: [...indexes], bytes });
  }
  return parts.map(({ indexes }) => indexes);
}

/** Returns the sender; undefined for bytes of which no sender can be told. */
export function senderOf(text: string): Hex | undefined {
  try {
    return bytesToHex(recoverSender(parseInnerTx(text)));
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}
