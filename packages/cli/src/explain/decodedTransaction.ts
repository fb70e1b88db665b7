import {
  bytesToHex,
  crypto,
  decodeInnerTx,
  type Hex,
  hexToBytes,
  ProtocolError,
  recoverSender,
  selectorOf,
} from "@gas-waiver/protocol";

/** The parts of a transaction that explain it. Numbers are decimal text. */
export interface DecodedTransaction {
  readonly hash: Hex;
  readonly from?: Hex;
  readonly to?: Hex;
  readonly nonce: string;
  readonly value: string;
  readonly gasLimit: string;
  readonly gasPrice?: string;
  readonly chainId?: string;
  readonly selector?: Hex;
  readonly dataBytes: number;
  readonly data: Hex;
}

/** Decodes signed bytes. @returns the decoder's refusal where they cannot be read. */
export function decodeRaw(raw: Hex): DecodedTransaction | ProtocolError {
  const bytes = hexToBytes(raw);
  try {
    const tx = decodeInnerTx(bytes);
    const price = tx.type === "eip1559" ? tx.maxFeePerGas : tx.gasPrice;
    const sender = trySender(() => recoverSender(tx));
    const selector = selectorOf(tx.data);
    return {
      hash: bytesToHex(crypto.keccak256(bytes)),
      ...(sender && { from: bytesToHex(sender) }),
      ...(tx.to && { to: bytesToHex(tx.to) }),
      nonce: tx.nonce.toString(),
      value: tx.value.toString(),
      gasLimit: tx.gasLimit.toString(),
      gasPrice: price.toString(),
      chainId: tx.chainId.toString(),
      ...(selector && { selector: bytesToHex(selector) }),
      dataBytes: tx.data.length,
      data: bytesToHex(tx.data),
    };
  } catch (error) {
    if (error instanceof ProtocolError) return error;
    throw error;
  }
}

/** The sender; undefined where no key can have made the signature. */
function trySender(recover: () => Uint8Array): Uint8Array | undefined {
  try {
    return recover();
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

/** A transaction as nodes answer it. */
export interface NodeTransaction {
  readonly hash: Hex;
  readonly from: Hex;
  readonly to: Hex | null;
  readonly nonce: Hex;
  readonly value: Hex;
  readonly gas: Hex;
  readonly gasPrice?: Hex;
  readonly chainId?: Hex;
  readonly input: Hex;
  readonly blockNumber: Hex | null;
}

/** Reads the parts of a transaction that a node knows. */
export function decodeNodeTransaction(tx: NodeTransaction): DecodedTransaction {
  const decimal = (quantity: Hex) => BigInt(quantity).toString();
  return {
    hash: tx.hash,
    from: tx.from,
    ...(tx.to && { to: tx.to }),
    nonce: decimal(tx.nonce),
    value: decimal(tx.value),
    gasLimit: decimal(tx.gas),
    ...(tx.gasPrice && { gasPrice: decimal(tx.gasPrice) }),
    ...(tx.chainId && { chainId: decimal(tx.chainId) }),
    ...(tx.input.length >= 10 && { selector: tx.input.slice(0, 10) as Hex }),
    dataBytes: (tx.input.length - 2) / 2,
    data: tx.input,
  };
}
