/**
 * Thrown where the fast path meets something that it leaves to EthereumJS: an instruction that it does not have, or an
 * exceptional halt. Nothing has changed then.
 */
export class CannotRunError extends Error {
  override readonly name = "CannotRunError";
}

/** Thrown for an instruction that the fast path does not have, so that it need not try the same code again. */
export class UnknownInstructionError extends CannotRunError {}
