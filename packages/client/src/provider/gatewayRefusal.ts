import type { ErrorDetails } from "@gas-waiver/protocol/wire";
import { RequestRefusedError, SubmissionFailedError, WaiverClientError } from "../errors.js";
import { readInnermost } from "../gasless/innerErrors.js";

/** Why the service did not take a transaction, as an error of a wallet or a library has it inside. */
export interface GatewayRefusal {
  /** The stable name of the rule, such as `TARGET_NOT_ALLOWED`. */
  readonly reason: string;
  /** The service's sentence. */
  readonly message: string;
  /** The submission's id, if there is a submission. */
  readonly id?: string;
  /** The values involved. */
  readonly details?: ErrorDetails;
}

/**
 * Finds the service's refusal in what a wallet, viem, wagmi or ethers threw. Libraries wrap the gateway's error, each in
 * its own way.
 * @returns undefined if the service has not refused: the user declined, the call reverted, the wallet failed.
 * @example
 * ```ts
 * import { gatewayRefusal } from "@gas-waiver/client";
 *
 * const refusal = gatewayRefusal(new Error("what writeContract threw"));
 * if (refusal?.reason === "TARGET_NOT_ALLOWED") console.log("this call is not free");
 * ```
 */
export function gatewayRefusal(error: unknown): GatewayRefusal | undefined {
  const found = refusingError(error);
  if (found instanceof RequestRefusedError || found instanceof SubmissionFailedError) {
    return refusalFrom({ ...found }, found.message);
  }
  // A node's words come before the service's sentence.
  return found && refusalFrom(found.data, found.message.replace(/^[^:]*: /, ""));
}

/** An error of the gateway's JSON-RPC. */
interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Takes the gateway's error out of the wallet's. Wallets wrap a node's errors as they like, and viem loses what is inside of
 * an internal error.
 * @returns the error that the page should get: the wallet's own if the service has not refused.
 */
export function unwrapGatewayError(error: unknown): unknown {
  const found = refusingError(error);
  if (found === undefined || found === error || found instanceof WaiverClientError) return error;
  const { code, message, data } = found;
  return Object.assign(new Error(message, { cause: error }), { code, data });
}

type RefusingError = RpcError | RequestRefusedError | SubmissionFailedError;

/** Finds the innermost error that has a reason of the service: it has the words as the service wrote them. */
const refusingError = (error: unknown) =>
  readInnermost(error, (members): RefusingError | undefined => {
    if (members instanceof RequestRefusedError || members instanceof SubmissionFailedError) return members;
    const { reason } = Object(members.data);
    const isOfGateway = typeof reason === "string" && typeof members.message === "string";
    return isOfGateway ? (members as unknown as RpcError) : undefined;
  });

function refusalFrom(data: Readonly<Record<string, unknown>>, message: string): GatewayRefusal {
  const { reason, id, details } = data;
  return {
    reason: String(reason),
    message,
    ...(typeof id === "string" && { id }),
    ...(details !== undefined && { details: details as ErrorDetails }),
  };
}
