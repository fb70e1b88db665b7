import { bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { certaintyOf } from "./Connection.js";
import { ConnectionFailedError, MalformedAnswerError, WaiverClientError } from "./WaiverClientError.js";

export interface BroadcastOptions {
  readonly signal?: AbortSignal;
  /** The platform's own by default. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What nodes say of a transaction that they have: sending the same bytes twice is no failure. */
const KNOWN = /already known|already exists|already in (?:the )?(?:mempool|cache|pool)|known transaction/i;

/**
 * Sends a signed wrapper (0x hex) to a node, once.
 * @returns the wrapper's hash. The user's transaction has its own, which `hashOf` gives.
 * @throws NodeRefusedError if the node does not take it, MalformedAnswerError,
 * ConnectionFailedError: with certainty `unknown` the node may have it, and only the same bytes may be sent again
 * under that nonce. Or the reason of an aborted signal.
 */
export async function broadcast(
  rpcUrl: string | URL,
  wrapper: string,
  { signal, fetch = globalThis.fetch }: BroadcastOptions = {},
): Promise<Hex> {
  const hash = bytesToHex(crypto.keccak256(hexToBytes(wrapper)));
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [wrapper] });
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body, ...(signal && { signal }) };
  const failed = (cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    // Only the origin: the paths of nodes hold keys.
    throw new ConnectionFailedError(new URL(rpcUrl).origin, certaintyOf(cause), cause, "node");
  };
  const response = await fetch(rpcUrl, init).catch(failed);
  const text = await response.text().catch(failed);
  readAnswer(response.status, text, hash);
  return hash;
}

/** @throws NodeRefusedError or MalformedAnswerError unless the node has the transaction. */
function readAnswer(status: number, text: string, hash: Hex): void {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    throw new MalformedAnswerError(status, `the node answered with status ${status} and no JSON`, { cause });
  }
  const { result, error } = membersOf(answer);
  if (typeof result === "string" && result.toLowerCase() === hash) return;
  const { code, message } = membersOf(error);
  if (typeof code !== "number" || typeof message !== "string") {
    throw new MalformedAnswerError(status, "the node's answer is neither the wrapper's hash nor an error");
  }
  if (!KNOWN.test(message)) throw new NodeRefusedError(code, message);
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The node answered, and did not take the transaction. */
export class NodeRefusedError extends WaiverClientError {
  override readonly name = "NodeRefusedError";
  /** The JSON-RPC error code. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
