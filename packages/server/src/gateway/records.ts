import { type AnySubmissionRecord, bytesToHex } from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import type { Caller } from "../model/keys/caller.js";
import type { Submission } from "../model/submission/submission.js";
import { toSubmissionRecord } from "../model/submission/submissionRecord.js";
import type { Refusals } from "../results/refusals.js";
import type { SubmissionsByHash } from "../results/submissionsByHash.js";
import { findReadableSubmissions } from "../store/accept/readAccess.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import type { Store } from "../store/store.js";
import type { StoreTurns } from "./heldTransactions.js";
import { invalidParams } from "./jsonRpc.js";
import { bytesAt } from "./params.js";

export interface RecordDependencies {
  /** The store, over the connections for reading. */
  readonly store: Store;
  readonly storeTurns: StoreTurns;
  /** Writes what nodes have answered and the store does not know yet. */
  readonly lanes: { flush(): Promise<void> };
  readonly refusals: Pick<Refusals, "find">;
  readonly byHash: Pick<SubmissionsByHash, "readable">;
}

/** The states of a transaction as the published SDKs of BEP-414 number them. */
const SDK_STATUS = { queued: 0, signed: 1, broadcast: 1, included: 2, failed: 3 } as const;

/** Tells what became of a submission, also of a failed one, of which the chain knows nothing. */
export function createRecords(dependencies: RecordDependencies) {
  const { store, storeTurns, lanes, refusals, byHash } = dependencies;
  const find = async (
    [name]: readonly unknown[],
    { keyId, publishable }: Caller,
  ): Promise<Submission | undefined> => {
    // D32: a publishable key sees only what it can name by hash.
    if (typeof name === "string" && isUuid(name) && publishable === undefined)
      return (await findReadableSubmissions(store, keyId, [name]))[0];
    const hash = bytesAt([name], 0, 32, "the hash of the transaction");
    return (await byHash.readable(keyId, [hash])).get(bytesToHex(hash));
  };
  const read = (params: readonly unknown[], caller: Caller) =>
    storeTurns.readOn(caller, () => mapStoreErrors(() => find(params, caller)));
  const recordOf = async (params: readonly unknown[], caller: Caller) => {
    if (params.length !== 1) throw invalidParams("one parameter is needed: the hash of the transaction");
    let submission = await read(params, caller);
    if (submission?.state === "signed") {
      // A client that has got its hash must find the broadcast in the record.
      await lanes.flush();
      submission = await read(params, caller);
    }
    return submission && toSubmissionRecord(submission);
  };
  const refusedRecordOf = async ([name]: readonly unknown[], caller: Caller) => {
    if (typeof name !== "string" || !isUuid(name)) return undefined;
    const find = () => mapStoreErrors(() => refusals.find(caller.keyId, [name]));
    const [refused] = await storeTurns.readOn(caller, find);
    return refused;
  };
  return {
    /** `pm_getSubmission`: the record of `GET /v1/submissions/{id}`; null if there is none. */
    submission: async (params: readonly unknown[], caller: Caller): Promise<AnySubmissionRecord | null> =>
      (await recordOf(params, caller)) ?? (await refusedRecordOf(params, caller)) ?? null,
    /** `eth_getGaslessTransactionByHash`: the same in the words of the published SDKs of BEP-414. */
    async gaslessTransaction(params: readonly unknown[], caller: Caller): Promise<unknown> {
      const record = await recordOf(params, caller);
      if (record === undefined) return null;
      const { txHash, sender, target, state, gasUsed, blockNumber } = record;
      return {
        txHash,
        fromAddress: sender,
        toAddress: target,
        status: SDK_STATUS[state],
        ...(gasUsed !== undefined && { gasUsed }),
        ...(blockNumber !== undefined && { bornBlockNumber: blockNumber }),
      };
    },
  };
}
