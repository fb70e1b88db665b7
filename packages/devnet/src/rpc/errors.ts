import { ProtocolError } from "@gas-waiver/protocol";
import { RefusedError } from "../pool/refusedError.js";

/** The error codes of JSON-RPC 2.0, and those that Ethereum nodes add. */
export const RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** A refusal: a transaction breaks a rule, or a state is not kept. */
  refused: -32000,
  /** A request exceeds a limit of the node. */
  limitExceeded: -32005,
  /** A call reverted; `data` is the returned data. */
  reverted: 3,
} as const;

/** An error that is sent as the `error` member of a response. */
export class RpcError extends Error {
  override readonly name = "RpcError";

  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
  ) {
    super(message);
  }
}

export function invalidParams(message: string): RpcError {
  return new RpcError(RPC_CODES.invalidParams, message);
}

/**
 * Turns any error into a JSON-RPC error. For a refused transaction, `data` has the stable reason and the values. For
 * a refused wrapper, the message begins with the check that failed.
 */
export function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (error instanceof ProtocolError || error instanceof RefusedError) {
    const check = error.values.check;
    const message = check === undefined ? error.message : `${check}: ${error.message}`;
    return new RpcError(RPC_CODES.refused, message, { reason: error.reason, ...error.values });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new RpcError(RPC_CODES.internalError, `internal error: ${message}`);
}
