import {
  bytesToHex,
  type Hex,
  hashTransaction,
  ProtocolError,
  parseInnerTx,
  recoverSender,
  selectorOf,
} from "@gas-waiver/protocol";

/** A decoded transaction, for the decision of an application. Addresses and hashes are in lower case. */
export interface RelayedTransaction {
  /** The position in the request. */
  readonly index: number;
  readonly hash: Hex;
  /** The account that signed. */
  readonly sender: Hex;
  /** The contract that is called; undefined for a creation, which the service refuses. */
  readonly to: Hex | undefined;
  /** The first four bytes of the calldata: the method. Undefined if the calldata is shorter. */
  readonly selector: Hex | undefined;
  readonly data: Hex;
  /** The value in wei. */
  readonly value: bigint;
  /** The gas limit, in gas. */
  readonly gas: bigint;
  readonly nonce: bigint;
  readonly chainId: bigint;
}

/**
 * Decodes the transactions of a request.
 * @throws ProtocolError for the first one that is no signed transaction; the message has its position.
 */
export function decodeRelayed(transactions: readonly string[]): RelayedTransaction[] {
  // Recovering the senders costs most, so it comes when all could be read.
  const decoded = transactions.map((text, index) => ({
    index,
    tx: atIndex(index, () => parseInnerTx(text)),
  }));
  return decoded.map(({ index, tx }) => {
    const selector = selectorOf(tx.data);
    return {
      index,
      hash: bytesToHex(hashTransaction(tx)),
      sender: bytesToHex(atIndex(index, () => recoverSender(tx))),
      to: tx.to && bytesToHex(tx.to),
      selector: selector && bytesToHex(selector),
      data: bytesToHex(tx.data),
      value: tx.value,
      gas: tx.gasLimit,
      nonce: tx.nonce,
      chainId: tx.chainId,
    };
  });
}

function atIndex<T>(index: number, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const message = `transactions[${index}]: ${error.message}`;
    throw new ProtocolError(error.reason, message, error.values, { cause: error });
  }
}
