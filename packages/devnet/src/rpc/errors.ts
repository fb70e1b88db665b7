import { ProtocolError } from "@gas-waiver/protocol";
import { RefusedError } from "../pool/refusedError.js";

/** The codes of JSON-RPC 2.0, and those that Ethereum nodes add. */
export const RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** The node refuses: a transaction that breaks a rule, a state that is not kept. */
  refused: -32000,
  /** More than a node gives or keeps for one client. */
  limitExceeded: -32005,
  /** A call that reverted; `data` is what it returned. */
  reverted: 3,
} as const;

/** What becomes the `error` member of a response. */
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
 * Any error as a JSON-RPC error. A refused transaction keeps its stable reason and its values in `data`, and
 * names the check that failed in front of the message.
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
