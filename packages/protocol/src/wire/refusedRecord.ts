import { define } from "../define.js";
import { ERROR_SCHEMA, type ErrorBody, GAS_PRICE_SAMPLE, parseErrorBody } from "./errorBody.js";
import { TX_HASH_SAMPLE } from "./samples.js";
import { defineNamedSchemas, defineSchema } from "./schema.js";
import {
  INCLUDED_SAMPLE,
  innerTxProperties,
  parseSubmissionRecord,
  SUBMISSION_RECORD_SCHEMA,
  type SubmissionRecord,
} from "./submissionRecord.js";
import { isOptionalText, isText, membersOf, SUBMISSION_ID, TIME } from "./values.js";
import { WireError } from "./wireError.js";

/**
 * The record of a refused line (D15): the service accepted nothing, and keeps for a day what it refused and why. The members
 * of the transaction are there as far as its bytes could be read. Newer services may add members (D26).
 */
export interface RefusedRecord {
  /** The `id` of the line. */
  readonly id: string;
  readonly state: "failed";
  /** Tells this record from a {@link SubmissionRecord}. */
  readonly refused: true;
  readonly certainty: "not_broadcast";
  /** The error of the line. */
  readonly error: ErrorBody;
  /** The InnerTx's hash (D6). */
  readonly txHash?: string;
  readonly sender?: string;
  readonly nonce?: string;
  /** The contract that the InnerTx calls. */
  readonly target?: string;
  /** The method that the InnerTx calls. Absent if its calldata is shorter than 4 bytes. */
  readonly selector?: string;
  /** The time of the refusal. */
  readonly failedAt: string;
}

/** The record that an id has: of a submission, or of a line that was refused. `"refused" in record` tells which. */
export type AnySubmissionRecord = SubmissionRecord | RefusedRecord;

const OPTIONAL_TEXTS = ["txHash", "sender", "nonce", "target", "selector"];

/**
 * Reads the record of a refused line. Members that this library does not know are kept.
 * @throws {@link WireError} if the value is not such a record.
 * @example
 * ```ts
 * const { error } = parseRefusedRecord(await response.json());
 * console.log(error.reason, error.message);
 * ```
 */
export function parseRefusedRecord(value: unknown): RefusedRecord {
  const record = membersOf(value);
  const isRecord =
    record.state === "failed" &&
    record.refused === true &&
    record.certainty === "not_broadcast" &&
    isText(record.id) &&
    isText(record.failedAt) &&
    OPTIONAL_TEXTS.every((name) => isOptionalText(record[name]));
  if (!isRecord) throw new WireError("the answer is not the record of a refused line", value);
  parseErrorBody(record.error);
  return value as RefusedRecord;
}

/**
 * Reads the record of a submission or of a refused line. Members that this library does not know are kept.
 * @throws {@link WireError} if the value is neither.
 * @example
 * ```ts
 * const record = parseAnySubmissionRecord(await response.json());
 * if ("refused" in record) console.log(record.error.message);
 * else console.log(record.acceptedAt);
 * ```
 */
export function parseAnySubmissionRecord(value: unknown): AnySubmissionRecord {
  return "refused" in membersOf(value) ? parseRefusedRecord(value) : parseSubmissionRecord(value);
}

const REFUSED_RECORD_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description:
    "The record of a refused line: nothing was accepted. The service keeps it for a day. The members of the transaction are there as far as its bytes could be read.",
  properties: {
    id: SUBMISSION_ID,
    state: { type: "string", const: "failed" },
    refused: { type: "boolean", const: true, description: "Tells this record from that of a submission." },
    certainty: { type: "string", const: "not_broadcast" },
    // The error of the line.
    error: ERROR_SCHEMA,
    ...innerTxProperties(),
    failedAt: { ...TIME, description: "When it was refused." },
  },
  required: ["id", "state", "refused", "certainty", "error", "failedAt"],
}));

export const ANY_SUBMISSION_RECORD_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  description: "The record of a submission, or of a line that was refused.",
  oneOf: [SUBMISSION_RECORD_SCHEMA, REFUSED_RECORD_SCHEMA],
}));

export const REFUSED_SAMPLE: RefusedRecord = /* @__PURE__ */ define(() => ({
  id: "019e3b1c-7d52-7c4e-9a3b-5f0c2d8e6a72",
  state: "failed",
  refused: true,
  certainty: "not_broadcast",
  error: GAS_PRICE_SAMPLE,
  txHash: TX_HASH_SAMPLE,
  sender: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  nonce: "0",
  target: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9",
  selector: "0xa9059cbb",
  failedAt: "2026-05-18T09:30:00.000Z",
}));

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  RefusedRecord: { schema: REFUSED_RECORD_SCHEMA, examples: [REFUSED_SAMPLE], read: parseRefusedRecord },
  AnySubmissionRecord: {
    schema: ANY_SUBMISSION_RECORD_SCHEMA,
    examples: [INCLUDED_SAMPLE, REFUSED_SAMPLE],
    read: parseAnySubmissionRecord,
  },
}));
