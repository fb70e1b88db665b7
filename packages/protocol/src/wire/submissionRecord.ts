import { define } from "../define.js";
import { ERROR_SCHEMA, parseErrorBody } from "./errorBody.js";
import { FAILED_SAMPLE, INCLUDED_SAMPLE, QUEUED_SAMPLE, WAITING_SAMPLE } from "./samples.js";
import { defineNamedSchemas, objectSchema } from "./schema.js";
import { type Members, readShape, type TypeOf } from "./shape.js";

/** The states of a submission, in the order of its life. */
export const SUBMISSION_STATES = ["queued", "signed", "broadcast", "included", "failed"] as const;
export type SubmissionStateName = (typeof SUBMISSION_STATES)[number];

/**
 * Whether a wrapper of the submission reached a node (D17). `unknown`: the bytes may have been sent, and no clear answer came
 * back, or the submission is queued again and its earlier wrapper may still land.
 */
export const CERTAINTIES = ["not_broadcast", "broadcast", "unknown"] as const;
export type Certainty = (typeof CERTAINTIES)[number];

const SUBMISSION_RECORD = {
  id: "submissionId",
  state: ["enum", SUBMISSION_STATES],
  certainty: ["enum", CERTAINTIES],
  /** The InnerTx's hash (D6). */
  txHash: "txHash",
  sender: "address",
  nonce: "decimal",
  /** The contract that the InnerTx calls. */
  target: "address?",
  /** The method that the InnerTx calls. Absent if its calldata is shorter than 4 bytes. */
  selector: "selector?",
  acceptedAt: "time",
  /** The cause for which an unfinished submission has waited for some seconds, for a person. */
  waitsFor: "text?",
  /** Present from the state `signed` on, as are `waiver` and `waiverNonce`. */
  wrapperHash: "hash?",
  waiver: "address?",
  waiverNonce: "decimal?",
  /** Present in the state `included`, as are `blockHash`, `gasUsed` and `reverted`. */
  blockNumber: "decimal?",
  blockHash: "hash?",
  /** The gas that the InnerTx used. */
  gasUsed: "decimal?",
  /** True if the InnerTx is in the block and failed there. */
  reverted: "boolean?",
  /** Present in the state `failed`, and in `included` if the InnerTx reverted. */
  error: ["optional", parseErrorBody],
  /** The time of the last signing. Absent again after a return to `queued`, as is `broadcastAt`. */
  signedAt: "time?",
  /** The time at which a node last accepted the wrapper. */
  broadcastAt: "time?",
  /** The time at which the service found the InnerTx in its block. */
  includedAt: "time?",
  /** The time from which the block is final. */
  finalAt: "time?",
  failedAt: "time?",
} as const satisfies Members;

/**
 * The record of a submission (D15, D17). Addresses, hashes and selectors are 0x-prefixed hex, times are ISO 8601 in
 * UTC, and nonces, block numbers and gas are decimal text, because they may pass 2^53. Newer services may add members
 * (D26).
 */
export interface SubmissionRecord extends TypeOf<typeof SUBMISSION_RECORD> {}

/**
 * Reads the record of a submission. Members that this library does not know are kept.
 * @throws {@link WireError} if the value is not a submission's record.
 * @example
 * ```ts
 * const record = parseSubmissionRecord(await response.json());
 * console.log(record.state, record.certainty, record.blockNumber);
 * ```
 */
export function parseSubmissionRecord(value: unknown): SubmissionRecord {
  const record = readShape(SUBMISSION_RECORD, value, "the answer is not the record of a submission");
  if (record.error !== undefined) parseErrorBody(record.error);
  return record;
}

/** The notes on the members of a record that tell its InnerTx. */
export const INNER_TX_NOTES = {
  sender: "The user who signed the InnerTx.",
  nonce: "The sender's nonce.",
  target: "The contract that the InnerTx calls.",
  selector: "The method that the InnerTx calls. Absent if its calldata is shorter than 4 bytes.",
};

export const SUBMISSION_RECORD_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(
    SUBMISSION_RECORD,
    "The record of a submission: its state, its place on the chain, and the times of its steps.",
    {
      ...INNER_TX_NOTES,
      state: "In the order of a submission's life.",
      certainty:
        "Whether the submission's present wrapper reached a node (D17). `unknown`: the bytes may have been sent, and no clear answer came back.",
      acceptedAt: "When the service accepted the submission.",
      waitsFor:
        "What an unfinished submission has waited for during some seconds, for a person: its sender's earlier nonce, the nodes, or its lane.",
      wrapperHash: "The wrapper's hash, from `signed` on.",
      waiver: "The waiver that signed the wrapper.",
      waiverNonce: "The wrapper's nonce.",
      blockNumber: "The block of the InnerTx, when `included`.",
      gasUsed: "The gas that the InnerTx used.",
      reverted: "True if the InnerTx is in the block and failed there.",
      // Present in the state `failed`, and in `included` if the InnerTx reverted.
      error: ERROR_SCHEMA,
      signedAt: "When a wrapper was last signed.",
      broadcastAt: "When a node last accepted the wrapper.",
      includedAt: "When the service found the InnerTx in its block.",
      finalAt: "When the block became final.",
      failedAt: "When the submission failed for good.",
    },
  ),
);

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  SubmissionRecord: {
    schema: SUBMISSION_RECORD_SCHEMA,
    examples: [INCLUDED_SAMPLE, FAILED_SAMPLE, QUEUED_SAMPLE, WAITING_SAMPLE],
    read: parseSubmissionRecord,
  },
}));
