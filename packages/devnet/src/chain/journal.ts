import type { Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { StateChanges } from "../state/overlay.js";
import type { StateMark } from "../state/world.js";

/** A step of the chain's past that is still in force. */
export type JournalEntry =
  | {
      readonly kind: "block";
      readonly block: SealedBlock;
      /** Of its transactions, in their order. */
      readonly hashes: readonly Hex[];
      readonly changes: StateChanges;
    }
  | { readonly kind: "patch"; readonly changes: StateChanges };

/**
 * Where a chain writes down what happens to it, in order, before anybody hears of it. Each method returns when
 * its record is durable, and throws when it cannot be; then the chain must be as if nothing had happened.
 *
 * The methods are synchronous on purpose: between the state's change and the block's announcement nothing may
 * run that could see one without the other.
 */
export interface Journal {
  /**
   * Begins a chain, or goes on with the one that is kept.
   * @returns the genesis block in force.
   */
  open(genesis: SealedBlock): SealedBlock;
  /** What is kept after genesis, oldest first. */
  entries(): Iterable<JournalEntry>;
  block(block: SealedBlock, changes: StateChanges): void;
  /** A change of the state between two blocks. */
  patch(changes: StateChanges): void;
  /** The chain went back to a mark: what was recorded after it counts for nothing. */
  rollBack(mark: StateMark): void;
}
