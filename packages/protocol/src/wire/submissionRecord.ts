import { define } from "../define.js";
import { ERROR_SCHEMA, type ErrorBody, parseErrorBody } from "./errorBody.js";
import { ID_SAMPLE, TX_HASH_SAMPLE } from "./samples.js";
import { defineNamedSchemas, defineSchema } from "./schema.js";
import { ADDRESS, DECIMAL, HASH, isOptionalText, isText, SUBMISSION_ID, TIME, TX_HASH } from "./values.js";
import { WireError } from "./wireError.js";

/** The states of a submission, in the order of its life. */
export const SUBMISSION_STATES = ["queued", "signed", "broadcast", "included", "failed"] as const;
export type SubmissionStateName = (typeof SUBMISSION_STATES)[number];

/**
 * Whether a wrapper of the submission reached a node (D17). `unknown`: the bytes may have been sent, and no clear answer came
 * back, or the submission is queued again and its earlier wrapper may still land.
 */
export const CERTAINTIES = ["not_broadcast", "broadcast", "unknown"] as const;
export type Certainty = (typeof CERTAINTIES)[number];

/**
 * The record of a submission (D15, D17). Addresses, hashes and selectors are 0x-prefixed hex, times are ISO 8601 in
 * UTC, and nonces, block numbers and gas are decimal text, because they may pass 2^53. Newer services may add members
 * (D26).
 */
export interface SubmissionRecord {
  readonly id: string;
  readonly state: SubmissionStateName;
  readonly certainty: Certainty;
  /** The InnerTx's hash (D6). */
  readonly txHash: string;
  readonly sender: string;
  readonly nonce: string;
  /** The contract that the InnerTx calls. */
  readonly target?: string;
  /** The method that the InnerTx calls. Absent if its calldata is shorter than 4 bytes. */
  readonly selector?: string;
  readonly acceptedAt: string;
  /** Present from the state `signed` on, as are `waiver` and `waiverNonce`. */
  readonly wrapperHash?: string;
  readonly waiver?: string;
  readonly waiverNonce?: string;
  /** Present in the state `included`, as are `blockHash`, `gasUsed` and `reverted`. */
  readonly blockNumber?: string;
  readonly blockHash?: string;
  /** The gas that the InnerTx used. */
  readonly gasUsed?: string;
  /** True if the InnerTx is in the block and failed there. */
  readonly reverted?: boolean;
  /** Present in the state `failed`, and in `included` if the InnerTx reverted. */
  readonly error?: ErrorBody;
  /** The time of the last signing. Absent again after a return to `queued`, as is `broadcastAt`. */
  readonly signedAt?: string;
  /** The time at which a node last accepted the wrapper. */
  readonly broadcastAt?: string;
  /** The time at which the service found the InnerTx in its block. */
  readonly includedAt?: string;
  /** The time from which the block is final. */
  readonly finalAt?: string;
  readonly failedAt?: string;
}

const TEXTS = ["id", "txHash", "sender", "nonce", "acceptedAt"];
const OPTIONAL_TEXTS = [
  "target",
  "selector",
  "wrapperHash",
  "waiver",
  "waiverNonce",
  "blockNumber",
  "blockHash",
  "gasUsed",
  "signedAt",
  "broadcastAt",
  "includedAt",
  "finalAt",
  "failedAt",
];

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
  const record = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const isRecord =
    SUBMISSION_STATES.some((name) => name === record.state) &&
    CERTAINTIES.some((name) => name === record.certainty) &&
    TEXTS.every((name) => isText(record[name])) &&
    OPTIONAL_TEXTS.every((name) => isOptionalText(record[name])) &&
    ["undefined", "boolean"].includes(typeof record.reverted);
  if (!isRecord) throw new WireError("the answer is not the record of a submission", value);
  if (record.error !== undefined) parseErrorBody(record.error);
  return value as SubmissionRecord;
}

/** The members of a record that tell its InnerTx. A function, so that bundles without schemas leave it out. */
export const innerTxProperties = () => ({
  txHash: TX_HASH,
  sender: { ...ADDRESS, description: "The user who signed the InnerTx." },
  nonce: { ...DECIMAL, description: "The sender's nonce." },
  target: { ...ADDRESS, description: "The contract that the InnerTx calls." },
  selector: {
    type: "string" as const,
    pattern: "^0x[0-9a-f]{8}$",
    description: "The method that the InnerTx calls. Absent if its calldata is shorter than 4 bytes.",
  },
});

export const SUBMISSION_RECORD_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "The record of a submission: its state, its place on the chain, and the times of its steps.",
  properties: {
    id: SUBMISSION_ID,
    state: { type: "string", enum: SUBMISSION_STATES, description: "In the order of a submission's life." },
    certainty: {
      type: "string",
      enum: CERTAINTIES,
      description:
        "Whether the submission's present wrapper reached a node (D17). `unknown`: the bytes may have been sent, and no clear answer came back.",
    },
    ...innerTxProperties(),
    acceptedAt: { ...TIME, description: "When the service accepted the submission." },
    wrapperHash: { ...HASH, description: "The wrapper's hash, from `signed` on." },
    waiver: { ...ADDRESS, description: "The waiver that signed the wrapper." },
    waiverNonce: { ...DECIMAL, description: "The wrapper's nonce." },
    blockNumber: { ...DECIMAL, description: "The block of the InnerTx, when `included`." },
    blockHash: HASH,
    gasUsed: { ...DECIMAL, description: "The gas that the InnerTx used." },
    reverted: { type: "boolean", description: "True if the InnerTx is in the block and failed there." },
    // Present in the state `failed`, and in `included` if the InnerTx reverted.
    error: ERROR_SCHEMA,
    signedAt: { ...TIME, description: "When a wrapper was last signed." },
    broadcastAt: { ...TIME, description: "When a node last accepted the wrapper." },
    includedAt: { ...TIME, description: "When the service found the InnerTx in its block." },
    finalAt: { ...TIME, description: "When the block became final." },
    failedAt: { ...TIME, description: "When the submission failed for good." },
  },
  required: ["id", "state", "certainty", "txHash", "sender", "nonce", "acceptedAt"],
}));

export const QUEUED_SAMPLE = {
  id: ID_SAMPLE,
  state: "queued",
  certainty: "not_broadcast",
  txHash: TX_HASH_SAMPLE,
  sender: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  nonce: "0",
  target: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9",
  selector: "0xa9059cbb",
  acceptedAt: "2026-05-18T09:30:00.000Z",
} as const satisfies SubmissionRecord;

export const INCLUDED_SAMPLE: SubmissionRecord = /* @__PURE__ */ define(() => ({
  ...QUEUED_SAMPLE,
  state: "included",
  certainty: "broadcast",
  wrapperHash: "0x5c1f7c1f0e7a4d6f3c0c1a39d6a0b6f0b7c4c8d5e2f1a0938271605f4e3d2c1b",
  waiver: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  waiverNonce: "17",
  blockNumber: "204",
  blockHash: "0x9a3b5f0c2d8e6a71019e3b1c7d527c4e5c1f7c1f0e7a4d6f3c0c1a39d6a0b6f0",
  gasUsed: "51438",
  reverted: true,
  error: {
    code: "BROADCAST_FAILED",
    message: "the transaction is in a block and reverted (insufficient balance)",
    reason: "REVERTED",
    details: {
      retry: "corrected",
      txHash: TX_HASH_SAMPLE,
      blockNumber: "204",
      gasUsed: "51438",
      gasLimit: "60000",
      cause: "error",
      causeMessage: "insufficient balance",
      causeFrom: "call",
    },
  },
  signedAt: "2026-05-18T09:30:00.004Z",
  broadcastAt: "2026-05-18T09:30:00.012Z",
  includedAt: "2026-05-18T09:30:01.030Z",
  finalAt: "2026-05-18T09:30:01.030Z",
}));

export const FAILED_SAMPLE: SubmissionRecord = /* @__PURE__ */ define(() => ({
  ...QUEUED_SAMPLE,
  state: "failed",
  nonce: "3",
  error: {
    code: "VALIDATION_FAILED",
    message: "nonce 3 is ahead of the sender's next, 2, which did not come within 10000 ms",
    reason: "NONCE_GAP",
    details: { retry: "later", nonce: "3", missing: "2", missingHolder: "unknown" },
  },
  failedAt: "2026-05-18T09:30:10.020Z",
}));

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  SubmissionRecord: {
    schema: SUBMISSION_RECORD_SCHEMA,
    examples: [INCLUDED_SAMPLE, FAILED_SAMPLE, QUEUED_SAMPLE],
    read: parseSubmissionRecord,
  },
}));
