// Words of the EVM: unsigned integers of 256 bits.

const BITS_64 = 64n;
const BITS_128 = 128n;
const BITS_192 = 192n;
const TWO_TO_64 = 2n ** 64n;

/** Reads 32 big-endian bytes. */
export function readWord(view: DataView, offset: number): bigint {
  const high = view.getBigUint64(offset);
  const second = view.getBigUint64(offset + 8);
  const low = (view.getBigUint64(offset + 16) << BITS_64) | view.getBigUint64(offset + 24);
  return high === 0n && second === 0n ? low : (((high << BITS_64) | second) << BITS_128) | low;
}

/** Holds one word for the functions below, because a view of each array would take longer than the rest. */
const scratch = new Uint8Array(32);
const scratchView = new DataView(scratch.buffer);

/** Reads 32 big-endian bytes of an array that is followed by zeros without end. */
export function wordAt(bytes: Uint8Array, offset: number): bigint {
  const word = bytes.subarray(offset, offset + 32);
  scratch.set(word);
  scratch.fill(0, word.length);
  return readWord(scratchView, 0);
}

/** Writes 32 big-endian bytes. */
export function writeWord(view: DataView, offset: number, value: bigint): void {
  // A DataView takes the lowest 64 bits of a larger value.
  view.setBigUint64(offset + 24, value);
  if (value < TWO_TO_64) {
    view.setBigUint64(offset + 16, 0n);
    view.setBigUint64(offset + 8, 0n);
    view.setBigUint64(offset, 0n);
    return;
  }
  view.setBigUint64(offset + 16, value >> BITS_64);
  view.setBigUint64(offset + 8, value >> BITS_128);
  view.setBigUint64(offset, value >> BITS_192);
}

/** The value as 32 big-endian bytes. */
export function wordBytes(value: bigint): Uint8Array {
  writeWord(scratchView, 0, value);
  return scratch.slice();
}
