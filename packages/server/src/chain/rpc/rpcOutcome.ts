import type { NoAnswerError, OpenMemory } from "./httpPoster.js";

/** Calls in one batch. Erigon and Bor refuse more by default. */
export const MAX_BATCH_CALLS = 100;

/** One call of a JSON-RPC batch. */
export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
  /**
   * Whether a node's answer tells what was asked: a well-formed result, or an error that is the answer. Any other answer counts
   * only where no other node tells. Without this, each answer tells.
   */
  readonly isTold?: (answer: RpcOutcome) => boolean;
  /** Whether an answer to a send says that the node takes nothing of the kind. Without this, none does. */
  readonly isDeclined?: (answer: RpcOutcome) => boolean;
  /** Counts the answer while it is read. Only for a call that is asked alone. */
  readonly openMemory?: OpenMemory;
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
 * No usable answer came. `sent` tells whom to ask next, and is evidence for nothing: `no` if the request met no connection,
 * or a limit of rate before the node, `unknown` otherwise (time-out, reset, 5xx, garbage).
 */
export class RpcUnavailableError extends Error {
  override readonly name = "RpcUnavailableError";
  /** The endpoint answers other calls, and failed with this one alone. */
  readonly isOfCall: boolean;
  /** The HTTP status of an answer that was of no use; undefined where none came. */
  readonly status: number | undefined;

  constructor(
    message: string,
    readonly sent: "no" | "unknown",
    options: ErrorOptions & { isOfCall?: boolean; status?: number | undefined } = {},
  ) {
    super(message, options);
    this.status = options.status;
    this.isOfCall = options.isOfCall ?? false;
  }
}

/** The failure of calls for which no node could be asked. */
export function noUsableNode(): RpcUnavailableError {
  return new RpcUnavailableError("every node is behind, or on another chain", "no");
}

/** One call's outcome: its result, the error that the node answered, or the one that stands for no answer. */
export type RpcOutcome =
  | { readonly result: unknown }
  | { readonly error: NodeRpcError | RpcUnavailableError };

/** The outcome of a send, and the number of requests with it that may have reached a node. */
export type SendOutcome = RpcOutcome & { readonly requests: number };

/** Tells an outcome without an answer of the node. */
export function isUnanswered(
  outcome: RpcOutcome | undefined,
): outcome is { readonly error: RpcUnavailableError } {
  return outcome !== undefined && "error" in outcome && outcome.error instanceof RpcUnavailableError;
}

/** Makes the {@link RpcCall.isTold} of a call with this reader of results, which throws for a malformed one. */
export function reads(read: (result: unknown) => unknown): (answer: RpcOutcome) => boolean {
  return (answer) => {
    try {
      read(resultOf(answer));
      return true;
    } catch {
      return false;
    }
  };
}

/** @throws the outcome's error. */
export function resultOf(outcome: RpcOutcome): unknown {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

/** Returns the result of a call; undefined for an error. */
export function resultIn(outcome: RpcOutcome | undefined): unknown {
  return outcome !== undefined && "result" in outcome ? outcome.result : undefined;
}

/** Returns the node's own error for a call; undefined for a result, or where no answer came. */
export function nodeErrorIn(outcome: RpcOutcome | undefined): NodeRpcError | undefined {
  const error = outcome !== undefined && "error" in outcome ? outcome.error : undefined;
  return error instanceof NodeRpcError ? error : undefined;
}

const MAX_MESSAGE_CHARACTERS = 500;

/**
 * Cuts a node's text, which goes into logs, lines and the store, and removes control characters: PostgreSQL takes no NUL.
 */
export function shorten(text: string, maxCharacters = MAX_MESSAGE_CHARACTERS): string {
  const start = text.slice(0, maxCharacters).replace(/[\p{Cc}\p{Cs}]/gu, " ");
  return text.length > maxCharacters ? `${start}…` : start;
}

/** The error of the calls of a request that got no answer. */
export function noAnswer({ cause, message, requests }: NoAnswerError): RpcUnavailableError {
  const code = isObject(cause) && typeof cause.code === "string" ? cause.code : undefined;
  return new RpcUnavailableError(
    `the node gave no answer: ${code ?? message}`,
    requests === 0 ? "no" : "unknown",
    { cause },
  );
}

/** Whether the value is a JSON object or array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
