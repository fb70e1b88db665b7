import type { Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { StateChanges } from "../state/overlay.js";
import type { StateMark } from "../state/world.js";

/** A record of the chain's history that no rollback has undone. */
export type JournalEntry =
  | {
      readonly kind: "block";
      readonly block: SealedBlock;
      /** The hashes of the block's transactions, in their order. */
      readonly hashes: readonly Hex[];
      readonly changes: StateChanges;
    }
  | { readonly kind: "patch"; readonly changes: StateChanges };

/**
 * Keeps a record of everything that changes the chain, in order. Each method returns when its record is durable. If it
 * throws, the chain must undo the change.
 *
 * The methods are synchronous, so that nothing runs between a change of the state and the announcement of its block.
 */
export interface Journal {
  /**
   * Starts a new journal, or opens the existing one.
   * @returns the genesis block of the chain in the journal.
   */
  open(genesis: SealedBlock): SealedBlock;
  /** The records after genesis that are in force, oldest first. */
  entries(): Iterable<JournalEntry>;
  block(block: SealedBlock, changes: StateChanges): void;
  /** Records a state patch between two blocks. */
  patch(changes: StateChanges): void;
  /** Records that the chain went back to a mark, which undoes the later records. */
  rollBack(mark: StateMark): void;
}
