import { CHECK_LINE_SCHEMA, SIMULATE_SCHEMA } from "./check.js";
import { ERROR_SCHEMA, LINE_ERROR_SCHEMA, REQUEST_ERROR_SCHEMA } from "./errorBody.js";
import { HEALTH_SCHEMA } from "./health.js";
import { KEY_POLICY_SCHEMA } from "./policy.js";
import { READINESS_SCHEMA } from "./ready.js";
import {
  DONE_FRAME_SCHEMA,
  ERROR_FRAME_SCHEMA,
  LINE_FRAME_SCHEMA,
  SUBMIT_FRAME_SCHEMA,
  WATCH_FRAME_SCHEMA,
} from "./socket.js";
import { SUBMISSION_PAGE_SCHEMA, SUBMISSION_RECORD_SCHEMA } from "./submission.js";
import { RESULT_LINE_SCHEMA, SUBMIT_REQUEST_SCHEMA, WAIT_SCHEMA } from "./submit.js";

export type { Schema } from "./Schema.js";
export * from "./values.js";

/**
 * The wire's definitions by the names that the descriptions give them. A test holds each to its type and to the
 * functions that read and write it.
 */
export const SCHEMAS = {
  SubmitRequest: SUBMIT_REQUEST_SCHEMA,
  Wait: WAIT_SCHEMA,
  ResultLine: RESULT_LINE_SCHEMA,
  CheckLine: CHECK_LINE_SCHEMA,
  Simulate: SIMULATE_SCHEMA,
  KeyPolicy: KEY_POLICY_SCHEMA,
  SubmissionRecord: SUBMISSION_RECORD_SCHEMA,
  SubmissionPage: SUBMISSION_PAGE_SCHEMA,
  Health: HEALTH_SCHEMA,
  Readiness: READINESS_SCHEMA,
  Error: ERROR_SCHEMA,
  LineError: LINE_ERROR_SCHEMA,
  RequestError: REQUEST_ERROR_SCHEMA,
  SubmitFrame: SUBMIT_FRAME_SCHEMA,
  WatchFrame: WATCH_FRAME_SCHEMA,
  LineFrame: LINE_FRAME_SCHEMA,
  DoneFrame: DONE_FRAME_SCHEMA,
  ErrorFrame: ERROR_FRAME_SCHEMA,
} as const;

export type SchemaName = keyof typeof SCHEMAS;
