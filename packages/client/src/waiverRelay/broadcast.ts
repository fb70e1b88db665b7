import { classifySendError, type Hex, type SendVerdictKind } from "@gas-waiver/protocol";
import { MalformedAnswerError, WaiverClientError } from "../errors.js";
import { membersOf, post } from "./nodes.js";
import { hashOf } from "./wrap.js";

/** Options of {@link broadcast}. */
export interface BroadcastOptions {
  readonly signal?: AbortSignal;
  /** The `fetch` to use; the platform's own by default. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Sends a signed wrapper to a node, once.
 * @param rpcUrl the node's JSON-RPC address. Errors name only its origin, since paths of nodes hold keys.
 * @param wrapper the signed bytes as 0x hex, as `wrap` returns them.
 * @returns the wrapper's hash. The user's transaction has its own, which `hashOf` returns.
 * @throws NodeRefusedError if the node does not take it; MalformedAnswerError; ConnectionFailedError: with
 * certainty `unknown` the node may have it, and only the same bytes may be sent again under that nonce. Or the
 * reason of an aborted signal.
 * @example
 * ```ts
 * const hash = await broadcast("http://127.0.0.1:8545", wrapper, { signal: AbortSignal.timeout(10_000) });
 * ```
 */
export async function broadcast(
  rpcUrl: string | URL,
  wrapper: string,
  options: BroadcastOptions = {},
): Promise<Hex> {
  const hash = hashOf(wrapper);
  const call = { jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [wrapper] };
  const { status, answer } = await post(rpcUrl, call, options);
  const { result, error } = membersOf(answer);
  if (typeof result === "string" && result.toLowerCase() === hash) return hash;
  const { code, message, data } = membersOf(error);
  if (typeof code !== "number" || typeof message !== "string") {
    throw new MalformedAnswerError(status, "the node's answer is neither the wrapper's hash nor an error");
  }
  const { kind } = classifySendError({ code, message, data });
  // Sending the same bytes twice is no failure.
  if (kind !== "already known") throw new NodeRefusedError(code, message, kind);
  return hash;
}

/** Thrown when the node answered, and did not take the transaction. */
export class NodeRefusedError extends WaiverClientError {
  override readonly name = "NodeRefusedError";
  /** The JSON-RPC error code. */
  readonly code: number;
  /** The meaning for the wrapper: `nonce too low`, `not now`, …; `disputed` where the node's words are unknown. */
  readonly kind: SendVerdictKind;

  constructor(code: number, message: string, kind: SendVerdictKind) {
    super(message);
    this.code = code;
    this.kind = kind;
  }
}
