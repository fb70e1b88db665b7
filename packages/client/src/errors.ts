import { type AnySubmissionRecord, type ErrorBody, WireError } from "@gas-waiver/protocol/wire";

/** A transaction that the service may have accepted. */
export interface InDoubtTransaction {
  /** Its position among the transactions of the call. */
  readonly index: number;
  /** The signed bytes as 0x hex. Sent again they are the same submission; other bytes could pay a second time. */
  readonly signed: string;
  /** The hash, for `wait`. The adapters for viem and ethers fill it in; elsewhere it is the Keccak-256 of `signed`. */
  readonly txHash?: string;
}

/**
 * The base of every error of this client: test `error instanceof WaiverClientError`, then `error.name`.
 * None of them holds the API key. An aborted signal throws its own reason instead.
 */
export abstract class WaiverClientError extends Error {
  /**
   * The transactions that the service may have accepted, to be sent again with the same bytes: by `submit`, or by the
   * adapter's function for signed bytes. While one is here, a new signature could pay twice.
   */
  readonly inDoubt: readonly InDoubtTransaction[] = [];

  abstract override readonly name:
    | "InvalidArgumentError"
    | "RequestRefusedError"
    | "ConnectionFailedError"
    | "StreamEndedError"
    | "MalformedAnswerError"
    | "SubmissionFailedError"
    | "UnusableAccountError"
    | "WalletNetworkError"
    | "WalletCallsError"
    | "NodeRefusedError"
    | "JournalError"
    | "WrongSenderError"
    | "WaiverRelayError";
}

/** Thrown before anything is sent, for an argument that cannot be used. */
export class InvalidArgumentError extends WaiverClientError {
  override readonly name = "InvalidArgumentError";
}

/**
 * Thrown when the service refused the request whole. Nothing of it was accepted, unless the reason is `INTERNAL_ERROR` or
 * `STORE_UNAVAILABLE`: then it is not known.
 */
export class RequestRefusedError extends WaiverClientError {
  override readonly name = "RequestRefusedError";
  /** The HTTP status. */
  readonly status: number;
  readonly code: ErrorBody["code"];
  /** The stable name of the rule that failed. */
  readonly reason: ErrorBody["reason"];
  /** The values involved; read them with `detailsOf(error, reason)`. */
  readonly details: ErrorBody["details"];
  /** The pause that the service asks for before the next request, in ms, if it does. */
  readonly retryAfterMs: number | undefined;

  constructor(
    status: number,
    { code, reason, details, message }: ErrorBody,
    retryAfterMs: number | undefined,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Thrown before anything is sent, for a transaction that another account than the expected one has signed. */
export class WrongSenderError extends WaiverClientError {
  override readonly name = "WrongSenderError";
  /** The position of the transaction. */
  readonly index: number;

  constructor(index: number, message: string, options?: ErrorOptions) {
    super(`${message}; nothing was sent`, options);
    this.index = index;
  }
}

/** Thrown when no answer came. */
export class ConnectionFailedError extends WaiverClientError {
  override readonly name = "ConnectionFailedError";
  /**
   * `not_sent`: no connection was made, so the service has seen nothing. `unknown`: it may have accepted the
   * transactions; sent again unchanged they are the same submissions, and nothing happens twice.
   */
  readonly certainty: "not_sent" | "unknown";

  constructor(url: string, certainty: "not_sent" | "unknown", cause: unknown, who = "service") {
    const what =
      certainty === "not_sent" ? "cannot be reached" : "did not answer, and may have taken the request";
    super(`the ${who} at ${url} ${what}${causeSuffix(cause)}`, { cause });
    this.certainty = certainty;
  }
}

/** Thrown when the answer ended before every transaction had its line. Those without may have been accepted. */
export class StreamEndedError extends WaiverClientError {
  override readonly name = "StreamEndedError";
  /** The indexes of the transactions without a line, in ascending order. */
  readonly missing: readonly number[];

  constructor(missing: readonly number[], options?: ErrorOptions) {
    const shown = missing.length > 10 ? `${missing.slice(0, 10).join(", ")}, …` : missing.join(", ");
    super(
      `the answer ended without a line for ${missing.length} transaction(s): index ${shown}` +
        causeSuffix(options?.cause),
      options,
    );
    this.missing = missing;
  }
}

/** Thrown when the answer is not in the protocol's form: no gas-waiver service, a proxy, or a broken service. */
export class MalformedAnswerError extends WaiverClientError {
  override readonly name = "MalformedAnswerError";
  /** The HTTP status of the answer. */
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(
      isFromNode(options?.cause) ? "this is a JSON-RPC node; pass the address of the service" : message,
      options,
    );
    this.status = status;
  }
}

/**
 * Thrown when one transaction failed, as its line or its record tells. With the code `TIMEOUT` only the waiting has
 * ended; `wait` with the id continues it.
 */
export class SubmissionFailedError extends WaiverClientError {
  override readonly name = "SubmissionFailedError";
  /** The submission's id. */
  readonly id: string;
  readonly code: ErrorBody["code"];
  /** The stable name of the rule that failed. */
  readonly reason: ErrorBody["reason"];
  /** The values involved; read them with `detailsOf(error, reason)`. */
  readonly details: ErrorBody["details"];
  /** The service's record of it, if it was read. */
  readonly record: AnySubmissionRecord | undefined;

  constructor(id: string, { code, reason, details, message }: ErrorBody, record?: AnySubmissionRecord) {
    super(message);
    this.id = id;
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.record = record;
  }
}

/** Thrown by `submitAll` for a journal that it cannot go on with. Nothing was sent. */
export class JournalError extends WaiverClientError {
  override readonly name = "JournalError";
}

/** Thrown when an account cannot sign a transaction of gas price 0 without sending it itself. */
export class UnusableAccountError extends WaiverClientError {
  override readonly name = "UnusableAccountError";
}

/** Thrown by `gaslessProvider` when the wallet is not on the gateway's network. Nothing was sent. */
export class WalletNetworkError extends WaiverClientError {
  override readonly name = "WalletNetworkError";
  /** EIP-1193: the provider is not connected to the requested chain. */
  readonly code = 4901;
}

/** Thrown by the methods of EIP-5792 of `gaslessProvider`. Nothing was sent. */
export class WalletCallsError extends WaiverClientError {
  override readonly name = "WalletCallsError";
  /** The code of EIP-5792, EIP-1193 or JSON-RPC: 5760 if the calls must be atomic, 5730 for an unknown id, … */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Whether the answer that could not be read is one of JSON-RPC, so that no service was asked. */
export function isFromNode(cause: unknown): boolean {
  return cause instanceof WireError && Object(cause.received).jsonrpc !== undefined;
}

/**
 * Returns the innermost message as the end of a sentence. `fetch` hides it under its own "fetch failed"; an error of this client
 * ends in it.
 */
function causeSuffix(cause: unknown): string {
  let error = cause;
  while (error instanceof Error && error.cause instanceof Error && !(error instanceof WaiverClientError))
    error = error.cause;
  return error instanceof Error && error.message !== "" ? `: ${error.message}` : "";
}
