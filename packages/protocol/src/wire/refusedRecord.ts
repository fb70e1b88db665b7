import { define } from "../define.js";
import { ERROR_SCHEMA, parseErrorBody } from "./errorBody.js";
import { INCLUDED_SAMPLE, REFUSED_SAMPLE, WAITING_SAMPLE } from "./samples.js";
import { defineNamedSchemas, objectSchema, type Schema } from "./schema.js";
import { type Members, readShape, type TypeOf } from "./shape.js";
import {
  INNER_TX_NOTES,
  parseSubmissionRecord,
  SUBMISSION_RECORD_SCHEMA,
  type SubmissionRecord,
} from "./submissionRecord.js";
import { membersOf } from "./values.js";

const REFUSED_RECORD = {
  /** The `id` of the line. */
  id: "submissionId",
  state: ["const", "failed"],
  /** Tells this record from a {@link SubmissionRecord}. */
  refused: ["const", true],
  certainty: ["const", "not_broadcast"],
  /** The error of the line. */
  error: parseErrorBody,
  /** The InnerTx's hash (D6). */
  txHash: "txHash?",
  sender: "address?",
  nonce: "decimal?",
  /** The contract that the InnerTx calls. */
  target: "address?",
  /** The method that the InnerTx calls. Absent if its calldata is shorter than 4 bytes. */
  selector: "selector?",
  /** The time of the refusal. */
  failedAt: "time",
} as const satisfies Members;

/**
 * The record of a refused line (D15): the service accepted nothing, and keeps for a day what it refused and why. The members
 * of the transaction are there as far as its bytes could be read. Newer services may add members (D26).
 */
export interface RefusedRecord extends TypeOf<typeof REFUSED_RECORD> {}

/** The record that an id has: of a submission, or of a line that was refused. `"refused" in record` tells which. */
export type AnySubmissionRecord = SubmissionRecord | RefusedRecord;

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
  const record = readShape(REFUSED_RECORD, value, "the answer is not the record of a refused line");
  parseErrorBody(record.error);
  return record;
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

const REFUSED_RECORD_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(
    REFUSED_RECORD,
    "The record of a refused line: nothing was accepted. The service keeps it for a day. The members of the transaction are there as far as its bytes could be read.",
    {
      ...INNER_TX_NOTES,
      refused: "Tells this record from that of a submission.",
      error: ERROR_SCHEMA,
      failedAt: "When it was refused.",
    },
  ),
);

export const ANY_SUBMISSION_RECORD_SCHEMA: Schema = /* @__PURE__ */ define(() => ({
  description: "The record of a submission, or of a line that was refused.",
  oneOf: [SUBMISSION_RECORD_SCHEMA, REFUSED_RECORD_SCHEMA],
}));

export default /* @__PURE__ */ defineNamedSchemas(() => ({
  RefusedRecord: { schema: REFUSED_RECORD_SCHEMA, examples: [REFUSED_SAMPLE], read: parseRefusedRecord },
  AnySubmissionRecord: {
    schema: ANY_SUBMISSION_RECORD_SCHEMA,
    examples: [INCLUDED_SAMPLE, REFUSED_SAMPLE, WAITING_SAMPLE],
    read: parseAnySubmissionRecord,
  },
}));
