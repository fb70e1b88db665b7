/** Fields of the next blocks that tests may set. */
export interface BlockSettings {
  /** The address that gets the fees; undefined while the validators take turns. */
  coinbase?: Uint8Array | undefined;
  /** PREVRANDAO of the next block; undefined if it follows from the parent's hash. */
  nextPrevRandao?: Uint8Array | undefined;
}
