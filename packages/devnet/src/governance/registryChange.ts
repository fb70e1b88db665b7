import type { Hex } from "@gas-waiver/protocol";

export type Action = "revoke" | "register";

/**
 * - `scheduled`: the validators' transactions will be sent before a later block.
 * - `sent`: the validators' transactions wait in the pool.
 * - `done`: the registry has the change.
 * - `failed`: the change was not made; `problem` tells why.
 */
export type ChangeState = "scheduled" | "sent" | "done" | "failed";

/** A requested change of the registry. */
export interface RegistryChange {
  readonly action: Action;
  readonly waiver: Hex;
  /** The block in which the change is made; null for the next block. */
  readonly block: number | null;
  readonly state: ChangeState;
  /** The hashes of the validators' transactions: the proposal, then the votes. */
  readonly transactions: readonly Hex[];
  readonly problem?: string;
}

/** Thrown for a change that cannot be requested. */
export class InvalidChangeError extends Error {
  override readonly name = "InvalidChangeError";
}
