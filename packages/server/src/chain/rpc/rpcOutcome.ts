import { wasNeverSent } from "@gas-waiver/protocol";

/** Calls in one batch. Erigon and Bor refuse more by default. */
export const MAX_BATCH_CALLS = 100;

/** One call of a JSON-RPC batch. */
export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** A node answered a call with a JSON-RPC error. */
export class NodeRpcError extends Error {
  override readonly name = "NodeRpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * No usable answer came. `sent` tells whether the node may have seen the request: `no` if it surely has not
 * (connection refused, rate limited), `unknown` otherwise (time-out, reset, 5xx, garbage).
 */
export class RpcUnavailableError extends Error {
  override readonly name = "RpcUnavailableError";
  readonly sent: "no" | "unknown";

  constructor(message: string, sent: "no" | "unknown", options?: ErrorOptions) {
    super(message, options);
    this.sent = sent;
  }
}

/** The calls do not fit one request to this node, and were to be answered together. Ask for fewer. */
export class BatchTooLargeError extends RpcUnavailableError {}

/** One call's outcome: its result, the error that the node answered, or the one that stands for no answer. */
export type RpcOutcome =
  | { readonly result: unknown }
  | { readonly error: NodeRpcError | RpcUnavailableError };

/** Tells an outcome without an answer of the node. */
export function isUnanswered(
  outcome: RpcOutcome | undefined,
): outcome is { readonly error: RpcUnavailableError } {
  return outcome !== undefined && "error" in outcome && outcome.error instanceof RpcUnavailableError;
}

/** The outcome of what was held back, because a request before it may not have arrived. */
export function notSent({ message }: Error): RpcOutcome {
  return { error: new RpcUnavailableError(`not sent, after: ${message}`, "no") };
}

/** @throws the outcome's error. */
export function resultOf(outcome: RpcOutcome): unknown {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

const MAX_MESSAGE_CHARACTERS = 500;

/**
 * Cuts a node's text, which goes into logs, lines and the store, and removes control characters: PostgreSQL takes no NUL.
 */
export function shorten(text: string): string {
  const start = text.slice(0, MAX_MESSAGE_CHARACTERS).replace(/[\p{Cc}\p{Cs}]/gu, " ");
  return text.length > MAX_MESSAGE_CHARACTERS ? `${start}…` : start;
}

/** The outcome of every call of a request that failed with this error of the network. */
export function unavailableFor(error: unknown): RpcUnavailableError {
  const code = isObject(error) && typeof error.code === "string" ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  return new RpcUnavailableError(
    `the node gave no answer: ${code ?? message}`,
    wasNeverSent(error) ? "no" : "unknown",
    { cause: error },
  );
}

/** Whether the value is a JSON object or array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
