import { type DetailsOf, detailsOf } from "@gas-waiver/protocol/wire";

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

/** The members in which viem, ethers and nodes keep the error of another one. */
const INNER = ["cause", "error", "info", "data", "originalError"] as const;

/**
 * Returns why a transaction or its estimate reverted; undefined if the error is of another kind.
 * @param error of the SDK, a result line, a record, viem, ethers or a node, or what any of them wraps.
 * @param decode decodes the data of a contract's own error; undefined if the ABI does not have it.
 */
export function revertReasonOf(
  error: unknown,
  decode: (data: `0x${string}`) => DecodedError | undefined,
): RevertReason | undefined {
  const details = revertDetailsIn(error);
  if (details === undefined) return undefined;
  const { cause, causeMessage, revertData } = details;
  const decoded = revertData === undefined ? undefined : decode(revertData as `0x${string}`);
  if (decoded === undefined)
    return { cause, message: causeMessage ?? "the service could not find out why it reverted" };
  return { cause, ...decoded, message: `${decoded.name}(${decoded.args.map(String).join(", ")})` };
}

/** Looks inside first: the innermost error is the node's or the service's own. */
function revertDetailsIn(error: unknown, depth = 0): DetailsOf<"REVERTED"> | undefined {
  if (typeof error !== "object" || error === null || depth > 8) return undefined;
  const members = error as Readonly<Record<string, unknown>>;
  for (const name of INNER) {
    const found = revertDetailsIn(members[name], depth + 1);
    if (found) return found;
  }
  const { data, message } = members;
  // A node gives the data of a call that its estimate has run and that reverted.
  if (typeof data === "string" && /^0x([0-9a-f]{2})+$/i.test(data))
    return { revertData: data, causeMessage: String(message) };
  return detailsOf(members, "REVERTED");
}
