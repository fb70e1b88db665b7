import { bytesToHex, type Hex, hashTransaction, highestGasPrice, parseInnerTx } from "@gas-waiver/protocol";
import { senderOf } from "../check/checkParts.js";

/** A transaction as nodes answer it. */
export interface NodeTransaction<Quantity = Hex> {
  readonly hash: Hex;
  /** Undefined where no key can have made the signature. */
  readonly from: Hex | undefined;
  readonly to?: Hex | null | undefined;
  readonly nonce: Quantity;
  readonly value: Quantity;
  readonly gas: Quantity;
  readonly gasPrice?: Quantity;
  readonly chainId?: Quantity;
  readonly input: Hex;
}

/** The parts of a transaction that explain it. Numbers are decimal text. */
export type DecodedTransaction = ReturnType<typeof describeTransaction>;

/**
 * Decodes signed bytes.
 * @throws ProtocolError if they cannot be read.
 */
export function decodeRaw(raw: Hex): DecodedTransaction {
  const tx = parseInnerTx(raw);
  return describeTransaction({
    hash: bytesToHex(hashTransaction(tx)),
    from: senderOf(raw),
    to: tx.to && bytesToHex(tx.to),
    nonce: tx.nonce,
    value: tx.value,
    gas: tx.gasLimit,
    gasPrice: highestGasPrice(tx),
    chainId: tx.chainId,
    input: bytesToHex(tx.data),
  });
}

/** Names the parts of a transaction, whether the bytes or a node told them. */
export function describeTransaction(tx: NodeTransaction<Hex | bigint>) {
  const { hash, from, to, nonce, value, gas, gasPrice, chainId, input } = tx;
  return {
    hash,
    from,
    to: to ?? undefined,
    nonce: BigInt(nonce).toString(),
    value: BigInt(value).toString(),
    gasLimit: BigInt(gas).toString(),
    gasPrice: gasPrice === undefined ? undefined : BigInt(gasPrice).toString(),
    chainId: chainId === undefined ? undefined : BigInt(chainId).toString(),
    selector: input.length < 10 ? undefined : (input.slice(0, 10) as Hex),
    dataBytes: (input.length - 2) / 2,
    data: input,
  };
}
