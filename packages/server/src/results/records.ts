import { type AnySubmissionRecord, hexToBytes } from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import type { Caller, LimitedCaller } from "../model/keys/caller.js";
import type { Submission } from "../model/submission/submission.js";
import { toSubmissionRecord } from "../model/submission/submissionRecord.js";
import { findReadableSubmissions } from "../store/accept/readAccess.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import type { Store } from "../store/store.js";
import type { Refusals } from "./refusals.js";
import type { RevertCauses } from "./revertCauses.js";
import { isHash, type SubmissionsByHash } from "./submissionsByHash.js";

/** Lets the clients take turns at reading the store. */
export interface StoreTurns {
  /** @param queries that the work has one after the other: one by default. */
  readOn<T>(caller: LimitedCaller, work: () => Promise<T>, queries?: number): Promise<T>;
}

export interface RecordDependencies {
  /** The store, over the connections for reading. */
  readonly store: Store;
  readonly storeTurns: StoreTurns;
  /** Writes what nodes have answered and the store does not know yet. */
  readonly lanes: { flush(): Promise<void> };
  readonly revertCauses: Pick<RevertCauses, "settled">;
  readonly refusals: Pick<Refusals, "find">;
  readonly byHash: Pick<SubmissionsByHash, "readable">;
}

/** One among the unfinished submissions, and one for what it finds, or among those that are finished. */
const QUERIES_BY_HASH = 2;

/**
 * Makes the function that tells what became of a submission, by its id or by the hash of its transaction (D15, D17), also of a
 * failed one, of which the chain knows nothing. A key sees only its own submissions, and a publishable key only submissions that it
 * names by hash (D32). A refused line has a record under its id.
 */
export function createRecords(dependencies: RecordDependencies) {
  const { store, storeTurns, lanes, revertCauses, refusals, byHash } = dependencies;
  return async (caller: Caller, name: string): Promise<AnySubmissionRecord | undefined> => {
    const { keyId, publishable } = caller;
    const isId = publishable === undefined && isUuid(name);
    const read = <T>(work: () => Promise<T>, queries = 1) =>
      storeTurns.readOn(caller, () => mapStoreErrors(work), queries);
    const find = () =>
      read(
        async (): Promise<Submission | undefined> => {
          if (isHash(name)) return (await byHash.readable(keyId, [hexToBytes(name)])).values().next().value;
          return isId ? (await findReadableSubmissions(store, keyId, [name]))[0] : undefined;
        },
        isHash(name) ? QUERIES_BY_HASH : 1,
      );
    let submission = await find();
    if (submission?.state === "signed") {
      // A client that has got the line of a broadcast must find the broadcast in the record.
      await lanes.flush();
      submission = await find();
    }
    if (submission?.state === "included" && submission.reverted && submission.cause === undefined) {
      // The cause of a revert is stored a moment after its block.
      if (await revertCauses.settled(submission.id)) submission = await find();
    }
    if (submission) return toSubmissionRecord(submission);
    // A submission comes first: under an idempotency key, a line that was refused for now may be accepted later.
    return isId ? (await read(() => refusals.find(keyId, [name])))[0] : undefined;
  };
}
