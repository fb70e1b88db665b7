import {
  bytesToHex,
  codeOf,
  ProtocolError,
  type Reason,
  ROUTES,
  type SubmissionRecord,
} from "@gas-waiver/protocol";
import type { FastifyInstance } from "fastify";
import { validate as isUuid } from "uuid";
import { storeErrors } from "../intake.js";
import { findSubmissions } from "../store/lookup.js";
import type { Store } from "../store/Store.js";
import { certaintyOf, REVERTED_MESSAGE, type Submission } from "../submission.js";
import type { Authenticator } from "./auth.js";

export interface SubmissionsDependencies {
  readonly store: Store;
  readonly authenticator: Authenticator;
}

/** `GET /v1/submissions/{id}`: what became of a submission (D15, D17). A key sees only its own. */
export function registerSubmissions(app: FastifyInstance, { store, authenticator }: SubmissionsDependencies) {
  app.route<{ Params: { id: string } }>({
    method: ROUTES.submission.method,
    url: ROUTES.submission.path,
    onRequest: async (request) => {
      request.caller = authenticator.authenticate(request.headers.authorization);
    },
    handler: async (request) => {
      const { id } = request.params;
      const [submission] = isUuid(id) ? await storeErrors(() => findSubmissions(store, [id])) : [];
      if (submission === undefined || submission.keyId !== request.caller.keyId) {
        throw new ProtocolError("NO_SUCH_SUBMISSION", "this key has no submission with this id");
      }
      return recordOf(submission);
    },
  });
}

/** The record as the wire has it. */
function recordOf(submission: Submission): SubmissionRecord {
  const { id, state, innerHash, sender, senderNonce, acceptedAt } = submission;
  return {
    id,
    state,
    certainty: certaintyOf(submission),
    txHash: bytesToHex(innerHash),
    sender: bytesToHex(sender),
    nonce: senderNonce.toString(),
    acceptedAt: acceptedAt.toISOString(),
    ...wrapperOf(submission),
    ...outcomeOf(submission),
  };
}

function wrapperOf(submission: Submission): Partial<SubmissionRecord> {
  if (submission.state === "queued" || submission.wrapperHash === undefined) return {};
  const { wrapperHash, waiver, waiverNonce } = submission;
  return {
    wrapperHash: bytesToHex(wrapperHash),
    ...(waiver && { waiver: bytesToHex(waiver) }),
    ...(waiverNonce !== undefined && { waiverNonce: waiverNonce.toString() }),
  };
}

function outcomeOf(submission: Submission): Partial<SubmissionRecord> {
  if (submission.state === "failed") return { error: errorOf(submission.reason, submission.message) };
  if (submission.state !== "included") return {};
  const { blockNumber, blockHash, gasUsed, reverted } = submission;
  return {
    blockNumber: blockNumber.toString(),
    blockHash: bytesToHex(blockHash),
    gasUsed: gasUsed.toString(),
    reverted,
    ...(reverted && { error: errorOf("REVERTED", REVERTED_MESSAGE) }),
  };
}

function errorOf(reason: Reason, message: string) {
  return { code: codeOf(reason), message, reason };
}
