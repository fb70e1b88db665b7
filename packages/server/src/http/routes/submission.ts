import { type AnySubmissionRecord, hexToBytes, ProtocolError } from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import type { Caller } from "../../model/keys/caller.js";
import type { Submission } from "../../model/submission/submission.js";
import { toSubmissionRecord } from "../../model/submission/submissionRecord.js";
import { findReadableSubmissions } from "../../store/accept/readAccess.js";
import { mapStoreErrors } from "../../store/database/storeTrouble.js";
import type { AuthenticatedRequest } from "../authenticator.js";
import type { RouteServices } from "./routeHandler.js";

/**
 * `GET /v1/submissions/:id`: the record of one submission (D15, D17), by its id or by the hash of its transaction. A key
 * sees only its own submissions, and a publishable key only submissions that it names by hash (D32). A refused line has a
 * record under its id.
 */
export function serveSubmission({
  store,
  byHash,
  lanes,
  revertCauses,
  refusals,
  readLimiter,
}: Pick<RouteServices, "store" | "byHash" | "lanes" | "revertCauses" | "refusals" | "readLimiter">) {
  const findNamed = async (name: string, { keyId }: Caller): Promise<Submission | undefined> => {
    if (isHash(name)) return (await byHash.readable(keyId, [hexToBytes(name)])).values().next().value;
    const [found] = isUuid(name) ? await findReadableSubmissions(store, keyId, [name]) : [];
    return found;
  };
  const findRefused = (caller: Caller, id: string) =>
    readLimiter.readOn(caller, () => mapStoreErrors(() => refusals.find(caller.keyId, [id])));
  return {
    async handler({ params, caller }: AuthenticatedRequest): Promise<AnySubmissionRecord> {
      const name = (params.id ?? "").toLowerCase();
      if (caller.publishable && !isHash(name)) {
        const message = "a publishable key names a submission by the hash of its transaction, not by its id";
        throw new ProtocolError("KEY_IS_PUBLISHABLE", message);
      }
      const find = () => mapStoreErrors(() => findNamed(name, caller));
      let submission = await readLimiter.read(caller, 1, find);
      if (submission?.state === "signed") {
        // A client that has got the line of a broadcast must find the broadcast in the record.
        await lanes.flush();
        submission = await readLimiter.readOn(caller, find);
      }
      if (submission?.state === "included" && submission.reverted && submission.cause === undefined) {
        // The cause of a revert is stored a moment after its block.
        if (await revertCauses.settled(submission.id)) submission = await readLimiter.readOn(caller, find);
      }
      // A submission comes first: under an idempotency key, a line that was refused for now may be accepted later.
      const [refused] = submission === undefined && isUuid(name) ? await findRefused(caller, name) : [];
      if (refused !== undefined) return refused;
      if (submission === undefined) {
        const kind = isHash(name) ? "hash" : "id";
        throw new ProtocolError("NO_SUCH_SUBMISSION", `this key has no submission with this ${kind}`);
      }
      return toSubmissionRecord(submission);
    },
  };
}

function isHash(name: string): boolean {
  return /^0x[0-9a-f]{64}$/.test(name);
}
