import { callFailureOf, type DetailsOf, detailsOf } from "@gas-waiver/protocol/wire";
import { allowanceIn } from "./gasless/estimate.js";
import { readInnermost, textOf } from "./gasless/innerErrors.js";

/** Why a transaction or its estimate reverted, as far as the service or a node found out. */
export interface RevertReason {
  /**
   * `error`, `panic`, `custom`, `empty`, `out_of_gas` or `halted`; undefined where no node could run it again, and in the error of
   * a receipt, which tells no cause.
   */
  readonly cause: string | undefined;
  /** The reason for people: the contract's text, the panic in words, or the decoded error with its arguments. */
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
 * Returns why a transaction or its estimate reverted; undefined if the error is of another kind.
 * @param error of the SDK, a result line, a record, viem, ethers or a node, or what any of them wraps.
 * @param decode decodes the data of a contract's own error; undefined if the ABI does not have it.
 */
export function revertReasonOf(
  error: unknown,
  decode: (data: `0x${string}`) => DecodedError | undefined,
): RevertReason | undefined {
  const details = readInnermost(error, detailsIn);
  if (details === undefined) return undefined;
  const { cause, causeMessage, revertData } = details;
  const decoded = revertData === undefined ? undefined : decode(revertData as `0x${string}`);
  if (decoded === undefined)
    return { cause, message: causeMessage ?? "the service could not find out why it reverted" };
  return { cause, ...decoded, message: `${decoded.name}(${decoded.args.map(String).join(", ")})` };
}

/** Reads the service's own error, that of a node that has run a call, or the one that ethers makes of it or of a receipt. */
function detailsIn(members: Readonly<Record<string, unknown>>): DetailsOf<"REVERTED"> | undefined {
  const ofService = detailsOf(members, "REVERTED");
  if (ofService) return ofService;
  const { code, data, info, receipt } = members;
  // ethers says so of every error to an estimate; the node's, if it is there, has been read before.
  const isOfEthers = code === "CALL_EXCEPTION" && !Object(info).error;
  if (isOfEthers && receipt)
    return { causeMessage: "it reverted in its block: `wait` of the client tells why" };
  // An error with a reason of its own, such as the gateway's, is none of a call that a node has run.
  const isOfNode = typeof code === "number" && Object(data).reason === undefined;
  const hasData = typeof data === "string" && /^0x([0-9a-f]{2})+$/i.test(data);
  if (!isOfEthers && !isOfNode && !hasData) return undefined;
  const message = textOf(members);
  if (allowanceIn(members) !== undefined) return { cause: "out_of_gas", causeMessage: message };
  const failure = callFailureOf({ message, data });
  if (failure === undefined) return undefined;
  const revertData = failure.kind === "custom" ? failure.data : undefined;
  return { cause: failure.kind, causeMessage: failure.message, ...(revertData && { revertData }) };
}
