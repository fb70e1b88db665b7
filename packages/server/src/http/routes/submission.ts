import { ProtocolError, type SubmissionRecord } from "@gas-waiver/protocol";
import { validate as isUuid } from "uuid";
import { findReadableSubmissions } from "../../store/accept/readAccess.js";
import { mapStoreErrors } from "../../store/mapStoreErrors.js";
import type { AuthenticatedRequest } from "../authenticator.js";
import type { RouteServices } from "./routeHandler.js";
import { toSubmissionRecord } from "./submissionRecord.js";

/** `GET /v1/submissions/:id`: the record of one submission (D15, D17). A key sees only its own. */
export function serveSubmission({
  store,
  broadcastBuffer,
  readLimiter,
}: Pick<RouteServices, "store" | "broadcastBuffer" | "readLimiter">) {
  return {
    async handler({ params, caller }: AuthenticatedRequest): Promise<SubmissionRecord> {
      const { id = "" } = params;
      const find = () => mapStoreErrors(() => findReadableSubmissions(store, caller.keyId, [id]));
      let [submission] = await readLimiter.read(caller, 1, async () => (isUuid(id) ? await find() : []));
      if (submission?.state === "signed") {
        // A client that has got the line of a broadcast must find the broadcast in the record.
        await broadcastBuffer.flush();
        [submission] = await readLimiter.readOn(caller, find);
      }
      if (submission === undefined) {
        throw new ProtocolError("NO_SUCH_SUBMISSION", "this key has no submission with this id");
      }
      return toSubmissionRecord(submission);
    },
  };
}
