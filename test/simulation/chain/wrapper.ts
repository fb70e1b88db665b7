import {
  bytesToHex,
  crypto,
  decodeInnerTx,
  decodeTransaction,
  type Hex,
  hashTransaction,
  hexToBytes,
  recoverSender,
} from "@gas-waiver/protocol";

/** A signed wrapper with what a node reads from it. */
export interface Wrapper {
  readonly hash: Hex;
  readonly waiver: Hex;
  readonly nonce: bigint;
  readonly innerRaw: Hex;
  readonly innerHash: Hex;
  readonly sender: Hex;
  readonly senderNonce: bigint;
}

/** An InnerTx with its hash and its sender. */
interface Inner {
  readonly hash: Hex;
  readonly sender: Hex;
  readonly nonce: bigint;
}

/** The most remembered decodings: those of many worlds, which sign the same InnerTxs. */
const MAX_REMEMBERED = 20_000;
const wrappers = new Map<Hex, Wrapper>();
const inners = new Map<Hex, Inner>();

/**
 * Decodes a wrapper and recovers both signers. Each recovery takes some 0.1 ms or more, and the service sends the same bytes
 * again and again, so the results are remembered.
 * @throws on bytes that are no wrapper.
 */
export function readWrapper(raw: Hex): Wrapper {
  return remembered(wrappers, raw, () => {
    const transaction = decodeTransaction(hexToBytes(raw));
    const innerRaw = bytesToHex(transaction.data);
    const inner = readInner(innerRaw);
    return {
      hash: bytesToHex(hashTransaction(transaction)),
      waiver: bytesToHex(recoverSender(transaction)),
      nonce: transaction.nonce,
      innerRaw,
      innerHash: inner.hash,
      sender: inner.sender,
      senderNonce: inner.nonce,
    };
  });
}

function readInner(raw: Hex): Inner {
  return remembered(inners, raw, () => {
    const inner = decodeInnerTx(hexToBytes(raw));
    return {
      hash: bytesToHex(hashTransaction(inner)),
      sender: bytesToHex(recoverSender(inner)),
      nonce: inner.nonce,
    };
  });
}

function remembered<T>(memory: Map<Hex, T>, raw: Hex, read: () => T): T {
  const known = memory.get(raw);
  if (known !== undefined) return known;
  const value = read();
  if (memory.size >= MAX_REMEMBERED) memory.clear();
  memory.set(raw, value);
  return value;
}

/** A hash of 32 bytes for something that is no real transaction or block. */
export function hashOfText(text: string): Hex {
  return bytesToHex(crypto.keccak256(new TextEncoder().encode(text)));
}
