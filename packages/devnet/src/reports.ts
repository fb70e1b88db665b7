import type { Hex } from "@gas-waiver/protocol";

// The values that a devnet gives to programs. No type of EthereumJS is among them, whose declarations do not compile everywhere.

/** The address that the devnet serves on. */
export interface ListeningAt {
  readonly url: string;
  readonly host: string;
  readonly port: number;
}

/** A block that was made. */
export interface MinedBlock {
  readonly number: number;
  readonly hash: Hex;
  /** The time in seconds since 1970. */
  readonly timestamp: bigint;
}

/** A transaction that the pool dropped without a block (D8), with the reason. */
export interface DroppedTransaction {
  readonly hash: Hex;
  /** The hash of the inner transaction of a wrapper. */
  readonly innerHash: Hex | undefined;
  readonly reason: string;
  readonly message: string;
}

/** The chain that the folder held at the start. */
export interface RestoredChain {
  /** The number of blocks after genesis. */
  readonly blocks: number;
  /** The bytes of an unfinished record that were cut off the end of the log. */
  readonly cutBytes: number;
}
