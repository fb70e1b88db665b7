/** The most bytes of a wrapper by default: geth, and the nodes that follow it, take no larger transaction (`txMaxSize`). */
export const DEFAULT_MAX_WRAPPER_BYTES = 131_072;

// The most bytes of each field, with its RLP header.
/** A number below 2^64. */
const UINT64_ITEM = 9;
/** A chain id below 2^53, or the `v` of EIP-155 that contains it. */
const CHAIN_ID_ITEM = 8;
/** The `r` or the `s` of a signature. */
const SIGNATURE_ITEM = 33;
const ADDRESS_ITEM = 21;
const ZERO_ITEM = 1;

/** The length of bytes, or of a list, with its RLP header. A single byte below 0x80 would have none; that is ignored. */
function withHeader(length: number): number {
  if (length < 56) return 1 + length;
  let header = 1;
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) header++;
  return header + length;
}

/**
 * Returns the most bytes that the WrapperTx around an InnerTx of so many bytes can have, whatever its nonce, gas limit and
 * chain id below 2^53 are (D5).
 * @param innerBytes the bytes of the signed InnerTx, with its type byte and its access list.
 * @example
 * ```ts
 * const fits = maxWrapperLength(inner.raw.length) <= DEFAULT_MAX_WRAPPER_BYTES;
 * ```
 */
export function maxWrapperLength(innerBytes: number): number {
  // Nonce, gas price, gas limit, marker, value, the InnerTx as an RLP string (the longer of its two encodings), and the
  // signature with the chain id in its v.
  const call =
    UINT64_ITEM + ZERO_ITEM + UINT64_ITEM + ADDRESS_ITEM + ZERO_ITEM + withHeader(withHeader(innerBytes));
  return withHeader(call + CHAIN_ID_ITEM + 2 * SIGNATURE_ITEM);
}

/** Returns the most bytes of a signed InnerTx with this much calldata and no access list. EIP-1559 is the longest type. */
function maxInnerLength(dataBytes: number): number {
  const valueItem = 33;
  const call = UINT64_ITEM + ADDRESS_ITEM + valueItem + withHeader(dataBytes);
  // Chain id, nonce and two fees of 0 before the call; the empty access list, the parity and the signature after it.
  const fields = CHAIN_ID_ITEM + UINT64_ITEM + 2 * ZERO_ITEM + call + 2 * ZERO_ITEM + 2 * SIGNATURE_ITEM;
  return 1 + withHeader(fields);
}

/**
 * Returns the most calldata with which the wrapper of any InnerTx without an access list fits. Longer calldata fits only
 * where small numbers save a few bytes.
 * @param maxWrapperBytes the most bytes of a wrapper.
 * @example
 * ```ts
 * console.log(maxDataLengthFor(131_072)); // 130786
 * ```
 */
export function maxDataLengthFor(maxWrapperBytes: number): number {
  const overhead = maxWrapperLength(maxInnerLength(maxWrapperBytes)) - maxWrapperBytes;
  return Math.max(0, maxWrapperBytes - overhead);
}
