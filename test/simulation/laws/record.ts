import type { Hex } from "@gas-waiver/protocol";

/** A submission as the service's store has it. */
export interface StoredSubmission {
  readonly innerHash: Hex;
  readonly state: string;
  /** The waiver of the lane that has it. */
  readonly waiver: Hex;
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

/** A lane as the store has it. */
export interface StoredLane {
  readonly waiver: Hex;
  readonly state: string;
  readonly reason: string | undefined;
}

/** The state of the service that the laws read at intervals. */
export interface StoredState {
  readonly submissions: readonly StoredSubmission[];
  readonly lanes: readonly StoredLane[];
}
