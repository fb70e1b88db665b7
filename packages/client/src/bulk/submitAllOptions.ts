import type { ResultLine, Wait } from "@gas-waiver/protocol/wire";
import type { RetryOptions } from "../http/retry.js";
import type { Journal } from "./journal.js";

/** Options of `submitAll`. */
export interface SubmitAllOptions {
  /** Makes the work resumable: `fileJournal("airdrop.journal")` of `@gas-waiver/client/node`, or a place of your own. */
  readonly journal?: Journal;
  /**
   * Is called once the journal has the bytes of all transactions durably, before anything is sent, and awaited. From then on a
   * repeated call goes on whatever happens, so a backend may answer its page. It needs a `journal`.
   */
  readonly onJournaled?: (journaled: SubmitAllJournaled) => void | Promise<void>;
  /** Is called at the start, with each outcome, and with each refusal for the key's rate. */
  readonly onProgress?: (progress: SubmitAllProgress) => void;
  /** Ends the work. With a journal, the next call goes on. */
  readonly signal?: AbortSignal;
  /**
   * The stage at which a transaction has succeeded: `broadcast` (the default), or `included` in a block. The outcomes of a journal
   * count as they are, so give each call the same.
   */
  readonly wait?: Wait;
  /**
   * Attempts for each request while the service is away or busy; 10 by default, more than half a minute. A request that is refused
   * because the key's rate is used up goes out again until it passes, or `signal` is aborted.
   */
  readonly retry?: RetryOptions;
}

/** The transactions that the journal of `submitAll` has. */
export interface SubmitAllJournaled {
  /** The signed bytes as 0x hex, in the order of the outcomes. */
  readonly transactions: readonly string[];
}

/** The state of `submitAll`, in transactions. */
export interface SubmitAllProgress {
  readonly total: number;
  /** Those of earlier calls included, as the journal has them. */
  readonly succeeded: number;
  readonly failed: number;
  /** The requests of this call that were refused because others with the key, or an earlier call, had used up its rate. */
  readonly rateRefusals: number;
}

/** The result of `submitAll`. */
export interface SubmitAllResult extends SubmitAllProgress {
  /** One line for each transaction, in the order of the transactions. */
  readonly outcomes: readonly ResultLine[];
}

/** Signed transactions, or a function that signs them. A journal that has them already is used in its place. */
export type SubmitAllTransactions =
  | readonly string[]
  | (() => readonly string[] | Promise<readonly string[]>);
