import type { CallError, Exchange, HttpReply, Reply } from "./exchange.js";

/** The refusals of a pool that each node words in its own way. The names are the devnet's. */
export type Refusal =
  | "ALREADY_KNOWN"
  | "WRAPPER_NONCE_TOO_LOW"
  | "WRAPPER_NONCE_GAP"
  | "REPLACEMENT_UNDERPRICED"
  | "POOL_FULL"
  | "TRANSACTION_TOO_LARGE";

/** The values that a wording may name. */
export interface RefusalValues {
  readonly nonce: string;
  readonly expected: string;
  readonly hash: string;
}

/** The limits of one request. An undefined one does not exist. */
export interface Limits {
  readonly calls?: number;
  readonly requestBytes?: number;
  readonly responseBytes?: number;
}

/** A kind of node: its words, its limits, and the form of its refusals. Each word has its source beside it. */
export interface Personality {
  readonly name: string;
  readonly words: Readonly<Record<Refusal, (values: RefusalValues) => CallError>>;
  /** The limits of its default settings. */
  readonly limits: Limits;
  /** The answer to a batch of too many calls, none of which was made. */
  tooManyCalls(exchange: Exchange, limit: number): HttpReply;
  /** The answer to a request of too many bytes, none of whose calls was made. */
  tooManyBytes(exchange: Exchange, limit: number): HttpReply;
  /**
   * The answer to a batch of which the first calls were made, and whose answers have more bytes than the limit.
   * @param made the answers to the calls that were made.
   */
  responseTooLarge(exchange: Exchange, made: readonly Reply[], limit: number): HttpReply;
  /** Errors that say nothing of the transaction: the node is starting, its engine is away, it is too slow. */
  readonly troubles: readonly CallError[];
}
