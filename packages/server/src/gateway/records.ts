import { bytesToHex } from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import type { Caller } from "../model/keys/caller.js";
import { createRecords, type RecordDependencies } from "../results/records.js";
import { invalidParams } from "./jsonRpc.js";
import { bytesAt } from "./params.js";

/** The states of a transaction as the published SDKs of BEP-414 number them. */
const SDK_STATUS = { queued: 0, signed: 1, broadcast: 1, included: 2, failed: 3 } as const;

/** The methods that tell what became of a submission. */
export function createRecordMethods(dependencies: RecordDependencies) {
  const recordOf = createRecords(dependencies);
  const read = async (params: readonly unknown[], caller: Caller) => {
    const [name] = params;
    if (params.length !== 1) throw invalidParams("one parameter is needed: the hash of the transaction");
    if (typeof name === "string" && isUuid(name) && caller.publishable === undefined)
      return await recordOf(caller, name);
    return await recordOf(caller, bytesToHex(bytesAt(params, 0, 32, "the hash of the transaction")));
  };
  return {
    /** `pm_getSubmission`: the record of `GET /v1/submissions/{id}`; null if there is none. */
    submission: async (params: readonly unknown[], caller: Caller) => (await read(params, caller)) ?? null,
    /** `eth_getGaslessTransactionByHash`: the same in the words of the published SDKs of BEP-414. */
    async gaslessTransaction(params: readonly unknown[], caller: Caller): Promise<unknown> {
      const record = await read(params, caller);
      if (record === undefined || "refused" in record) return null;
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
