import { type AnySubmissionRecord, ProtocolError } from "@gas-waiver/protocol";
import { createRecords } from "../../results/records.js";
import { isHash } from "../../results/submissionsByHash.js";
import type { AuthenticatedRequest } from "../authenticator.js";
import type { RouteServices } from "./routeHandler.js";

/** `GET /v1/submissions/:id`: the record of one submission (D15, D17), by its id or by the hash of its transaction. */
export function serveSubmission({ readLimiter, ...services }: RouteServices) {
  const recordOf = createRecords({ ...services, storeTurns: readLimiter });
  return {
    async handler({ params, caller }: AuthenticatedRequest): Promise<AnySubmissionRecord> {
      const name = (params.id ?? "").toLowerCase();
      if (caller.publishable && !isHash(name)) {
        const message = "a publishable key names a submission by the hash of its transaction, not by its id";
        throw new ProtocolError("KEY_IS_PUBLISHABLE", message);
      }
      readLimiter.count(caller, 1);
      const record = await recordOf(caller, name);
      if (record) return record;
      const kind = isHash(name) ? "hash" : "id";
      throw new ProtocolError("NO_SUCH_SUBMISSION", `this key has no submission with this ${kind}`);
    },
  };
}
