import { detailsOf, type ErrorDetails } from "@gas-waiver/protocol/wire";

/** Any error that names its reason: of the SDK, of a result line, or of a record. */
export interface ErrorWithReason {
  readonly reason?: string | undefined;
  readonly details?: ErrorDetails | undefined;
}

/** Why a transaction reverted, as far as the service found out. */
export interface RevertReason {
  /** `error`, `panic`, `custom`, `empty`, `out_of_gas` or `halted`; undefined where no node could run it again. */
  readonly cause: string | undefined;
  /** The reason for people: the contract's text, or the decoded error with its arguments. */
  readonly message: string;
  /** The name of the contract's own error, if the ABI has it. */
  readonly name?: string;
  /** The arguments of the contract's own error, decoded. */
  readonly args?: readonly unknown[];
}

/** An error that an ABI has decoded. */
export interface DecodedError {
  readonly name: string;
  readonly args: readonly unknown[];
}

/**
 * Returns why the error's transaction reverted; undefined if the error is of another kind.
 * @param decode decodes the data of a contract's own error; undefined if the ABI does not have it.
 */
export function revertReasonOf(
  error: ErrorWithReason,
  decode: (data: `0x${string}`) => DecodedError | undefined,
): RevertReason | undefined {
  const details = detailsOf(error, "REVERTED");
  if (details === undefined) return undefined;
  const { cause, causeMessage, revertData } = details;
  const decoded = revertData === undefined ? undefined : decode(revertData as `0x${string}`);
  if (decoded === undefined)
    return { cause, message: causeMessage ?? "the service could not find out why it reverted" };
  return { cause, ...decoded, message: `${decoded.name}(${decoded.args.map(String).join(", ")})` };
}
